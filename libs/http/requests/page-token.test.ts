import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { digestOf, pageToken } from "./page-token.ts";

const about = { name: "next", takes: "a token", description: "", example: "", position: z.int().min(0) };
const loose = pageToken(about);
const bound = pageToken({ ...about, bound: { maxAgeMs: DAY_MS, otherList: "is of another", tooOld: "is old" } });
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

test("a token gives its position back, and none where it was left out or is empty", () => {
  expect(loose.read({ next: loose.format(7) })).toBe(7);
  expect([loose.read({}), loose.read({ next: "" })]).toEqual([undefined, undefined]);
});

test("a bound token continues its own list alone, for its time", () => {
  const request = { digest: digestOf({ query: "a" }), now: 5 };
  const next = bound.format(7, request);
  expect(bound.read({ next }, { ...request, now: 5 + DAY_MS })).toBe(7);
  expect(() => bound.read({ next }, { ...request, now: 6 + DAY_MS })).toThrow("Invalid parameter: next is old");
  const other = { ...request, digest: digestOf({ query: "b" }) };
  expect(() => bound.read({ next }, other)).toThrow("Invalid parameter: next is of another");
  expect(() => bound.read({ next: loose.format(7) }, request)).toThrow("next is of another");
});

test.each(["x", encode("x"), encode({ position: -1 }), encode({ position: 1, more: 1 }), encode(null)])(
  "%s is no token",
  (next) => {
    expect(() => loose.read({ next })).toThrow("Invalid parameter: next takes a token");
  },
);
