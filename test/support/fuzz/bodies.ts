import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { Expectation, Payload } from "./drafts.ts";
import { wildText } from "./wild-text.ts";

export const CONTENT_TYPES = [
  ...["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;", "application/json;;a", "text/json"],
  ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=", ""],
  ...["application/jsonp", "application/json, text/plain", "application/json; charset=utf-16", "*/*", "json", "/"],
  ...["application/vnd.api+json", "application/x-ndjson", "application/octet-stream", "text/html", 'a/b; c="', "😀/😀"],
] as const;
const CONTENT_ENCODINGS = [
  "gzip",
  "GZIP",
  "identity",
  "br",
  "deflate",
  "zstd",
  "x-gzip",
  "gzip, gzip",
  "",
  "😀",
] as const;
const CONTENT_LENGTHS = ["0", "1", "-1", "abc", "1e3", "0x10", " 5", "5, 5", "99999999999", "33554433", ""] as const;
const JSON_TYPE = { "content-type": "application/json" } as const;

const DEEP = 5_000;
/** Bodies that are not an object with a list of texts, JSON or not. */
const NO_LISTS = [
  ...[
    "",
    " ",
    "null",
    "true",
    "0",
    "-0",
    "1e999",
    '"ips"',
    "[]",
    "{}",
    "[[]]",
    '["8.8.8.8"]',
    "{",
    "}",
    "[",
    '"',
    "nul",
  ],
  ...['{"ips":[]}', '{"ips":null}', '{"ips":"8.8.8.8"}', '{"ips":{"0":"8.8.8.8"}}', '{"ips":[null]}', '{"ips":[1]}'],
  ...[
    '{"ips":[["8.8.8.8"]]}',
    '{"IPS":["8.8.8.8"]}',
    '{"ips ":["8.8.8.8"]}',
    '{"ips":["8.8.8.8",1]}',
    '{"ips":[true]}',
  ],
  ...[
    '{"ips":["8.8.8.8",]}',
    "{ips:['8.8.8.8']}",
    "{'ips':[]}",
    '{"ips":[NaN]}',
    '{"ips":["8.8.8.8"]} {}',
    '{"ips":[1e999]}',
  ],
  ...[
    '{"ips":["\\ud800\\u"]}',
    '{"ips":["\n"]}',
    '{"ips":["8.8.8.8"],"ips":1}',
    '/**/{"ips":["8.8.8.8"]}',
    "ips=8.8.8.8",
  ],
  `{"ips":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}`,
  "[".repeat(DEEP),
  '{"a":'.repeat(DEEP),
  JSON.stringify({ ips: Array(10_001).fill("x") }),
  JSON.stringify({ ips: [" ".repeat(1024 * 1024)] }),
] as const;
/** Bodies that some parsers accept and others reject. */
const EITHER = [
  '\ufeff{"ips":["8.8.8.8"]}',
  '{"ips":1,"ips":["8.8.8.8"]}',
  '{"ips":["8.8.8.8"],"__proto__":{"polluted":true}}',
  '{"ips":["8.8.8.8"],"constructor":{"prototype":{"polluted":true}}}',
  '{"__proto__":{"ips":["8.8.8.8"]}}',
  '{"ips":["8.8.8.8"],"x":1e999,"y":-0,"z":123456789012345678901234567890}',
  '{"ips":["\\ud800","\\u0000","\\u202e","\\ud83d\\ude00"]}',
  `{"ips":["8.8.8.8"],"x":${"[".repeat(500)}${"]".repeat(500)}}`,
  JSON.stringify({ ips: Array(10_000).fill("x") }),
  JSON.stringify({ ips: Array.from({ length: 300 }, (_, index) => `${"9".repeat(3_000)}${index}`) }),
] as const;

const payload = (
  bytes: Buffer | string,
  expects: Expectation,
  headers: Record<string, string> = JSON_TYPE,
): Payload => ({
  bytes: Buffer.from(bytes),
  headers,
  expects,
});

/** A list of addresses as described, and all kinds of other bodies. */
export function listBodies(described: fc.Arbitrary<unknown>): {
  plain: fc.Arbitrary<Payload>;
  odd: fc.Arbitrary<Payload>;
} {
  const plain = described.map((value) => payload(JSON.stringify(value), "accepted"));
  const odd = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...NO_LISTS).map((text) => payload(text, "rejected")) },
    { weight: 2, arbitrary: fc.constantFrom(...EITHER).map((text) => payload(text, "anything")) },
    { weight: 2, arbitrary: broken(plain) },
    { weight: 2, arbitrary: withOtherHeader(plain) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 4 }).map((text) => payload(text, "rejected")) },
    { weight: 1, arbitrary: wildText.map((text) => payload(text, "rejected")) },
  );
  return { plain, odd };
}

const BOUNDARY = "xx-boundary-xx";
/** A form with one member. */
export const formOf = (text: string, name = "file") => ({
  headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
  bytes: Buffer.from(
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="x.txt"\r\n\r\n${text}\r\n--${BOUNDARY}--\r\n`,
  ),
});
const TEXTS = ["from 45.1.1.1 and 8.8.8.8, not 10.0.0.1", "1.2.3.4.5 999.1.1.1 ::1", "", "9".repeat(10_000)] as const;

const whole = fc
  .oneof(fc.constantFrom(...TEXTS), wildText)
  .map((text): Payload => ({ ...formOf(text.toWellFormed().replaceAll("\r\n--", "")), expects: "accepted" }));
/** Forms with a text as their file, and other bodies. */
export const formBodies = {
  plain: whole,
  odd: fc.oneof(
    broken(whole),
    withOtherHeader(whole),
    fc.constant<Payload>({ ...formOf("1.1.1.1", "other"), expects: "rejected" }),
    fc.constantFrom(...NO_LISTS).map((text) => payload(text, "rejected")),
    wildText.map((text) => payload(text, "rejected", { "content-type": "multipart/form-data; boundary=x" })),
  ),
};

/** A damaged payload. */
export function broken(whole: fc.Arbitrary<Payload>): fc.Arbitrary<Payload> {
  const headersOf = ({ headers }: Payload) => ({ ...headers });
  return fc.oneof(
    // A cut JSON object is not JSON.
    fc
      .tuple(whole, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }))
      .map(([sent, share]) =>
        payload(sent.bytes.subarray(0, Math.floor(sent.bytes.length * share)), "anything", headersOf(sent)),
      ),
    fc.tuple(whole, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })).map(([sent, flips]) => {
      const bytes = Buffer.from(sent.bytes);
      for (const [at, value] of flips) bytes.fill(value, at % bytes.length, (at % bytes.length) + 1);
      return payload(bytes, "anything", headersOf(sent));
    }),
    whole.map((sent) => payload(Buffer.concat([Buffer.from("\ufeff"), sent.bytes]), "anything", headersOf(sent))),
    whole.map((sent) => payload(Buffer.from(sent.bytes.toString("utf8"), "utf16le"), "anything", headersOf(sent))),
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => payload(Buffer.from(bytes), "anything")),
  );
}

/** A payload with a header that contradicts it. */
export function withOtherHeader(whole: fc.Arbitrary<Payload>): fc.Arbitrary<Payload> {
  const saying = (name: string, values: readonly string[]) =>
    fc
      .tuple(whole, fc.constantFrom(...values))
      .map(([sent, value]) => payload(sent.bytes, "anything", { ...sent.headers, [name]: value }));
  return fc.oneof(
    saying("content-type", CONTENT_TYPES),
    saying("content-encoding", CONTENT_ENCODINGS),
    saying("content-length", CONTENT_LENGTHS),
    whole.map((sent) => payload(sent.bytes, "anything", {})),
    whole.map((sent) => payload(gzipSync(sent.bytes), "anything", { ...sent.headers, "content-encoding": "gzip" })),
  );
}
