import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { expect, test } from "vitest";
import { exclude, narrow } from "./narrow.ts";

test.each([
  ["tags:mirai", "country:DE", "tags:mirai country:DE"],
  ["tags:mirai OR tags:worm", "country:DE", "(tags:mirai OR tags:worm) country:DE"],
  ["(tags:mirai OR tags:worm) asn:1", "country:DE", "(tags:mirai OR tags:worm) asn:1 country:DE"],
  ['path:"/a OR (b"', "country:DE", 'path:"/a OR (b" country:DE'],
  ["path:'/a' || port:1", "country:DE", "(path:'/a' || port:1) country:DE"],
  ["port:22 protocol:tcp", "port:53 protocol:udp", "port:22 protocol:tcp (port:53 protocol:udp)"],
])("%s narrowed by %s is %s", (query, condition, expected) => {
  expect(narrow(query, condition)).toBe(expected);
});

const QUERIES = [
  "tags:mirai",
  "mirai worm",
  "NOT tags:mirai",
  "a OR b",
  "a OR b c",
  "port:22",
  "port:22 protocol:tcp",
  'path:"/a OR (b" tags:x',
  "path:'(' OR port:22 country:')'",
  "“a” OR b",
  "port:(22 OR 23) classification:benign",
  "path:\\( OR a OR path:\\)",
];
const CONDITIONS = ["country:DE", 'organization:"A (or B)"', "port:53 protocol:udp", "port:80"];

test.each(QUERIES)("%s stays whole, whatever narrows it or is excluded from it", (query) => {
  for (const condition of CONDITIONS) {
    expect(meaningOf(narrow(query, condition))).toEqual(meaningOf(`(${query}) (${condition})`));
    expect(meaningOf(exclude(query, condition))).toEqual(meaningOf(`(${query}) NOT (${condition})`));
  }
});

function meaningOf(text: string): unknown {
  const read = readQuery(text, 0);
  expect([text, read]).toEqual([text, expect.objectContaining({ query: expect.anything() })]);
  return flatten("query" in read ? read.query : undefined);
}

/** Without the levels that nested AND make. */
function flatten(query: unknown): unknown {
  if (typeof query !== "object" || query === null || !("type" in query)) return query;
  if (query.type === "not" && "of" in query) return { type: "not", of: flatten(query.of) };
  if ((query.type !== "and" && query.type !== "or") || !("of" in query) || !Array.isArray(query.of)) return query;
  const parts = query.of.map(flatten).flatMap((part) => {
    const isSame = typeof part === "object" && part !== null && "type" in part && part.type === query.type;
    return isSame && "of" in part && Array.isArray(part.of) ? part.of : [part];
  });
  return parts.length === 1 ? parts[0] : { type: query.type, of: parts };
}
