import fc from "fast-check";
import type { FuzzRequest } from "./drafts.ts";

/** A request as bytes. */
export type RawRequest = {
  readonly request: FuzzRequest;
  readonly bytes: Buffer;
  /** Whether a server must respond without waiting for more bytes. */
  readonly isWhole: boolean;
};

/** The bytes that a header field or a target can hold unchanged. */
const PLAIN = /^[\x21-\x7e]*$/;

type Parts = {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly lines: readonly string[];
  readonly body: Buffer;
};
type Twist = { readonly change: (parts: Parts) => Parts; readonly isWhole: boolean };

/** Bytes beyond ASCII are written unchanged, so that header fields and targets can have any. */
const latin1 = (text: string) => Buffer.from(text, "latin1");

function partsOf({ method, target, headers, payload }: FuzzRequest): Parts {
  const lines = Object.entries(headers)
    .filter(([name]) => !/^(?:content-length|host|upgrade)$/.test(name))
    // Line breaks are left to the twists.
    .map(([name, value]) => `${name}: ${value.replace(/[\0\r\n]/g, "")}`);
  const body = payload ?? Buffer.alloc(0);
  const length = payload === undefined ? [] : [`content-length: ${body.length}`];
  return { method, target, version: "HTTP/1.1", lines: ["Host: x", "Connection: close", ...length, ...lines], body };
}

function join({ method, target, version, lines, body }: Parts): Buffer {
  return Buffer.concat([latin1(`${method} ${target} ${version}\r\n${lines.join("\r\n")}\r\n\r\n`), body]);
}

const withLines = (...more: string[]): Twist => ({
  change: (parts) => ({ ...parts, lines: [...parts.lines, ...more] }),
  isWhole: true,
});
const stalling = (...more: string[]): Twist => ({ ...withLines(...more), isWhole: false });
const chunked = (body: string): Twist => ({
  change: (parts) => ({
    ...parts,
    method: "POST",
    lines: [...parts.lines.filter((line) => !line.startsWith("content-length")), "Transfer-Encoding: chunked"],
    body: latin1(body),
  }),
  isWhole: false,
});

const HOSTLESS: Twist = {
  change: (parts) => ({ ...parts, lines: parts.lines.filter((line) => !line.startsWith("Host:")) }),
  isWhole: true,
};

const TWISTS: readonly Twist[] = [
  HOSTLESS,
  ...["200-ok", "100-continue, x", "", "😀", "x".repeat(3_000)].map((value) => withLines(`Expect: ${value}`)),
  withLines("Expect: 100-continue"),
  ...["key: a", "key: \x80\xff", "key: a,b", "key:", `key: ${"k".repeat(8_000)}`].map((line) => withLines(line, line)),
  ...[
    "X-Forwarded-For: 1.1.1.1",
    "X-Request-Id: a\tb",
    "Upgrade: h2c",
    "Connection: upgrade",
    "Host: y",
    "Host: [::",
  ].map((line) => withLines(line)),
  withLines(...Array<string>(1_990).fill("a: b")),
  ...["Content-Length: 5", "Content-Length: -1", "Content-Length: 1e3", "Transfer-Encoding: chunked, gzip"].map(
    (line) => stalling(line),
  ),
  ...[
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: x",
    "no colon",
    ": no name",
    "a b: c",
    " folded: line",
    "a: \0",
    "a: \x01",
    "a: b\rc",
    "é: x",
  ].map((line) => stalling(line)),
  ...[
    "0\r\n\r\n",
    "zz\r\n",
    "2\r\n{}\r\n0\r\n\r\n",
    "2;ext=1\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    "ffffffffffffffff\r\n{}",
    "-1\r\n",
    "5\r\n{}",
  ].map(chunked),
  ...["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/9.9", "ICY/1.0", "http/1.1", ""].map((version) => ({
    change: (parts: Parts) => ({ ...parts, version }),
    isWhole: false,
  })),
  ...["TRACE", "PROPFIND", "CONNECT", "FOO", "get", "PRI", "", "GET\t", "M-SEARCH", "QUERY", "x".repeat(9_000)].map(
    (method) => ({
      change: (parts: Parts) => ({ ...parts, method }),
      isWhole: false,
    }),
  ),
  ...[
    "*",
    "http://x/v3/tags",
    "http://x",
    "x:80",
    "v3/tags",
    "/v3/\xe9",
    "/v3/tags?name=\xff\xfe",
    "/v3/ta gs",
    "/v3/\0",
    "/v3/\x7f",
    "/v3/tags#a",
    "///v3//tags",
  ].map((target) => ({ change: (parts: Parts) => ({ ...parts, target }), isWhole: false })),
  ...["..", "a/../b", "\xff", "%", "%zz", "%c0%af", "8.8.8.8?", "8.8.8.8#", "\\", '|^`"<>'].map((tail) => ({
    change: (parts: Parts) => ({ ...parts, target: `/v3/community/${tail}` }),
    isWhole: false,
  })),
];

/** The same requests as bytes, unchanged and with twists that only bytes can express. */
export function rawRequests(requests: fc.Arbitrary<FuzzRequest>): fc.Arbitrary<RawRequest> {
  // Only the client of a HEAD knows where its response ends.
  const whole = requests.filter(({ method }) => method !== "HEAD");
  /** With other bytes in it, a request may mean anything. */
  const garbled = (request: FuzzRequest, bytes: Buffer, isWhole = false): RawRequest => ({
    request: { ...request, payload: undefined, records: undefined, expects: "anything" },
    bytes,
    isWhole,
  });
  const untouched = whole
    .filter(({ target, headers }) => [target, ...Object.values(headers)].every((text) => PLAIN.test(text)))
    .map((request): RawRequest => ({ request, bytes: join(partsOf(request)), isWhole: true }));
  const twisted = fc
    .tuple(whole, fc.constantFrom(...TWISTS))
    .map(([request, { change, isWhole }]) =>
      garbled(request, join(change(partsOf(request))), isWhole && request.payload === undefined),
    );
  const damaged = fc
    .tuple(whole, fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 3 }), fc.option(fc.nat(300)))
    .map(([request, flips, cut]) => {
      const bytes = join(partsOf(request));
      for (const [at, value] of flips) bytes.fill(value, at % bytes.length, (at % bytes.length) + 1);
      return garbled(request, bytes.subarray(0, cut ?? bytes.length));
    });
  const noise = fc
    .tuple(whole, fc.uint8Array({ minLength: 1, maxLength: 300 }))
    .map(([request, bytes]) => garbled(request, Buffer.from(bytes)));
  return fc.oneof(
    { weight: 4, arbitrary: untouched },
    { weight: 6, arbitrary: twisted },
    { weight: 3, arbitrary: damaged },
    { weight: 1, arbitrary: noise },
  );
}

/** A request whose header is larger than servers accept. */
export function withLongHeader(request: FuzzRequest): Buffer {
  return join(withLines(`X-Long: ${"x".repeat(17 * 1_024)}`).change(partsOf(request)));
}

/** A request without Host, which HTTP/1.1 requires. */
export function withoutHost(request: FuzzRequest): Buffer {
  return join(HOSTLESS.change(partsOf(request)));
}
