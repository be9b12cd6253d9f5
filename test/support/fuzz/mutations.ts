import { mappedIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import fc from "fast-check";
import { takesText } from "./described-values.ts";
import { type DescribedOperation, expecting, percentEncoded, type Twist } from "./drafts.ts";
import { wildAddress, wildText } from "./wild-text.ts";

const OTHER_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;

/** Path segments without a meaning, or with another than they seem to have. */
const RAW_SEGMENTS = [
  "%zz",
  "%",
  "%0",
  "%ff",
  "%c3%28",
  "%00",
  "%2f",
  "%2F..%2F",
  "%252e%252e",
  "%25zz",
  "8.8.8.8%00",
  "8.8.8.8%0a",
  "8.8.8%2e8",
  "8.8.8.8;v=1",
  "8.8.8.8%3fquick=1",
  "%38.8.8.8",
  "%EF%BC%98.8.8.8",
  "%u0038",
  "..",
  "%2e%2e",
  ".%2e",
  "*",
  ":ip",
  "{ip}",
  "a%20b",
  "+",
  "~",
] as const;

/** Another text in the path. If the path's parameter has a format, the text does not match it. */
function inPath(operation: DescribedOperation): fc.Arbitrary<Twist>[] {
  return operation.parameters
    .filter((parameter) => parameter.in === "path")
    .flatMap(({ name, schema }) => {
      const isShaped = schema.format !== undefined || schema.pattern !== undefined;
      const text = isShaped ? fc.oneof(wildAddress, wildText) : wildText;
      return [
        // An empty text, or one of dots, makes it another path; an address may also be written as IPv6 maps it.
        text.filter((value) => !/^\.{0,2}$/.test(value) && mappedIpv4(value) === undefined).map(percentEncoded),
        fc.constantFrom(...RAW_SEGMENTS),
      ].map((segments, index) =>
        segments.map(
          (segment): Twist =>
            (draft) => {
              const expects = index === 0 && isShaped ? "rejected" : "anything";
              return expecting({ ...draft, segments: { ...draft.segments, [name]: segment } }, expects);
            },
        ),
      );
    });
}

const nearTo = (values: readonly number[]) =>
  fc.constantFrom(...values.flatMap((value) => [value - 1, value + 1])).map(String);

/** A query parameter with an invalid text, or given twice. */
function inQuery(operation: DescribedOperation): fc.Arbitrary<Twist>[] {
  return operation.parameters
    .filter((parameter) => parameter.in === "query")
    .flatMap(({ name, schema }) => {
      const { minimum, maximum } = schema;
      const bounds = [minimum, maximum].filter((bound) => bound !== undefined);
      const text = fc.oneof(
        wildText,
        bounds.length > 0 ? nearTo(bounds) : wildText,
        fc.constantFrom("0h", "169h", "01h", "1d", "91d", "25h", "1.5h", "-1h", "1H", "h", "1h1h", "TRUE", "yes", "on"),
      );
      const isShaped = schema.type !== "string" || schema.pattern !== undefined || schema.enum !== undefined;
      return [
        text.map(
          (value): Twist =>
            (draft) => {
              const query = [
                ...draft.query.filter(([other]) => other !== name),
                [name, percentEncoded(value)] as const,
              ];
              // Only parameters with a format reject texts, and some operations accept more than described.
              const isRejected = isShaped && !takesText(schema, value) && !takesText(schema, value.toLowerCase());
              return expecting({ ...draft, query }, isRejected ? "rejected" : "anything");
            },
        ),
        fc.constantFrom("1", "", "x").map(
          (value): Twist =>
            (draft) =>
              expecting({ ...draft, query: [...draft.query, [name, value], [name, value]] }, "rejected"),
        ),
      ];
    });
}

/** Unknown parameters are ignored. */
const unknownParameters: fc.Arbitrary<Twist> = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        "__proto__",
        "constructor",
        "prototype",
        "x",
        "key",
        "q[]",
        "days%5B%5D",
        "%F0%9F%98%80",
        "%zz",
        "DAYS",
      ),
      wildText.map(percentEncoded),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map(
    (pairs): Twist =>
      (draft) => ({ ...draft, query: [...draft.query, ...pairs] }),
  );

/** Ambiguous query strings. */
const ambiguousQuery: fc.Arbitrary<Twist> = fc
  .constantFrom(
    "&&&",
    "?",
    "%",
    "=",
    "==",
    "&=&",
    "days",
    "days=1;days=2",
    "a=1#b",
    "%00=%00",
    "days=%zz",
    "[]",
    "&".repeat(3_000),
  )
  .map(
    (text): Twist =>
      (draft) =>
        expecting({ ...draft, query: [...draft.query, [text, ""]] }, "anything"),
  );

/** Other spellings of a path. A doubled slash at the start is the same path; the others may be anything. */
const otherPath: fc.Arbitrary<Twist> = fc.oneof(
  fc.integer({ min: 1, max: 5 }).map(
    (slashes): Twist =>
      (draft) => ({ ...draft, rewritePath: (path) => "/".repeat(slashes) + path }),
  ),
  fc
    .constantFrom<readonly [from: string | RegExp, to: string]>(
      [/$/, "/"],
      [/$/, "%2f"],
      [/$/, ";a=b"],
      [/$/, "%3F"],
      [/\/v/, "/./v"],
      [/\/v/, "/x/../v"],
      [/\/v/, "/%2e%2e/v"],
      [/\/v/, "/V"],
      [/\/v/, "/%76"],
      [/\/v/, "\\v"],
      [/\/(?=[^/]*$)/, "//"],
      [/\/(?=[^/]*$)/, "%2F"],
      [/\/(?=[^/]*$)/, "/%zz/../"],
      [/^.*$/, "/"],
      [/^.*$/, "/v3/%zz"],
      [/^.*$/, "/__proto__"],
      [/^.*$/, "/v3/constructor"],
      [/^.*$/, "/etc/passwd"],
      [/^.*$/, "/v3/tags/../../openapi.jso"],
    )
    .map(
      ([from, to]): Twist =>
        (draft) =>
          expecting({ ...draft, rewritePath: (path) => path.replace(from, to) }, "anything"),
    ),
  wildText.map(
    (text): Twist =>
      (draft) =>
        expecting({ ...draft, rewritePath: () => `/v3/${percentEncoded(text)}` }, "anything"),
  ),
);

/** Header fields without a meaning here, or of a proxy that is not trusted. */
const headers: fc.Arbitrary<Twist> = fc
  .record({
    name: fc.constantFrom(
      ...[
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "forwarded",
        "x-real-ip",
        "x-request-id",
        "accept",
      ],
      ...["accept-encoding", "accept-version", "x-http-method-override", "if-none-match", "if-modified-since", "range"],
      ...["origin", "cookie", "authorization", "user-agent", "te", "upgrade", "host", "__proto__", "constructor"],
    ),
    value: fc.oneof(
      wildText,
      fc.constantFrom(
        "8.8.8.8",
        "8.8.8.8, 127.0.0.1",
        "::1",
        "text/html",
        "*/*;q=0",
        "br, gzip",
        "1.0.0",
        "*",
        "bytes=0-1",
      ),
      fc.constantFrom(
        "DELETE",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "https://elsewhere.example.org",
        "null",
        "a=b; c",
        "h2c",
      ),
    ),
  })
  .map(
    ({ name, value }): Twist =>
      (draft) => ({ ...draft, headers: { ...draft.headers, [name]: value } }),
  );

const wrongKey: fc.Arbitrary<Twist> = wildText
  .filter((key) => key !== "")
  .map(
    (key): Twist =>
      (draft) =>
        expecting({ ...draft, headers: { ...draft.headers, key } }, "rejected"),
  );

/** The host of a foreign page, which is rejected without a key. */
const foreignHost: Twist = (draft) => ({ ...draft, headers: { ...draft.headers, host: "foreign.example" } });

/** A method that a path does not have is rejected, except HEAD, which is GET without the body. */
function otherMethod(methodsOfPath: readonly string[]): fc.Arbitrary<Twist> {
  return fc.constantFrom(...OTHER_METHODS.filter((method) => !methodsOfPath.includes(method))).map(
    (method): Twist =>
      (draft) =>
        expecting({ ...draft, method }, method === "HEAD" ? "anything" : "rejected"),
  );
}

/** All twists of a request except those of its body. */
export function twistsOf(operation: DescribedOperation, methodsOfPath: readonly string[]): fc.Arbitrary<Twist> {
  return fc.oneof(
    ...[...inPath(operation), ...inQuery(operation)].map((arbitrary) => ({ weight: 2, arbitrary })),
    { weight: 1, arbitrary: unknownParameters },
    { weight: 1, arbitrary: ambiguousQuery },
    { weight: 1, arbitrary: otherPath },
    { weight: 1, arbitrary: headers },
    { weight: 1, arbitrary: wrongKey },
    { weight: 1, arbitrary: fc.constant(foreignHost) },
    { weight: 1, arbitrary: otherMethod(methodsOfPath) },
  );
}
