import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../app.ts";
import { defineOperation } from "../operations/operation.ts";
import { boolean, readParameter } from "./parameters.ts";

const QUICK = boolean({ name: "quick", description: "" });
const operation = defineOperation({
  id: "getSomething",
  method: "GET",
  path: "/something",
  group: "Test",
  summary: "",
  pathParameters: {},
  queryParameters: [QUICK],
  success: { status: 200, description: "", schema: z.strictObject({}), example: {} },
  errorResponses: {},
});

const app = await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 1_000 });
app.implement(operation, async ({ query }) => {
  readParameter(query, QUICK);
  return {};
});
afterAll(() => app.close());

async function ask(query: string) {
  const answer = await app.inject({ method: "GET", url: `/something${query}` });
  return { status: answer.statusCode, named: answer.headers["unknown-parameters"] };
}

test.each([
  ["", undefined],
  ["?", undefined],
  ["?quick=1", undefined],
  ["?quik=1&quick=1", '"quik"'],
  ["?b=1&a=2&b=3", '"b", "a"'],
  ["?Quick=1", '"Quick"'],
  ["?toString=1&__proto__=2&constructor", '"toString", "__proto__", "constructor"'],
])("of %s it names %s", async (query, named) => {
  expect(await ask(query)).toEqual({ status: 200, named });
});

test("an error response names them, too", async () => {
  expect(await ask("?quick=maybe&slugs=x")).toEqual({ status: 400, named: '"slugs"' });
});

test("of many and long names it gives a part", async () => {
  expect((await ask("?a&b&c&d&e&f&g")).named).toBe('"a", "b", "c", "d", "e", "..."');
  expect((await ask(`?${"n".repeat(8_000)}`)).named).toBe(`"${"n".repeat(40)}..."`);
});

test.each([
  ["a line break", "?a%0d%0aSet-Cookie:%20x=1", '"a%0D%0ASet-Cookie%3A%20x"'],
  ["a quote and a backslash", '?%22,%20%22b%5c="', '"%22%2C%20%22b%5C"'],
  ["other scripts", "?%C3%A9%F0%9F%98%80", '"%C3%A9%F0%9F%98%80"'],
  ["a null byte", "?%00", '"%00"'],
  ["half an escape", "?%E9%zz", '"%25E9%25zz"'],
])("%s is escaped", async (_what, query, named) => {
  expect(await ask(query)).toEqual({ status: 200, named });
});

test("whatever the query, the field is a list of few short strings of plain ASCII", async () => {
  // The library's own unit of any character takes a second to make.
  const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));
  const query = fc.oneof(fc.string({ unit: anyCharacter }), fc.string(), fc.webQueryParameters());
  await fc.assert(
    fc.asyncProperty(query, async (text) => {
      const { status, named = "" } = await ask(
        `?${encodeURIComponent(text.toWellFormed())}&${encodeURI(text.toWellFormed())}`,
      );
      expect([200, 400]).toContain(status);
      expect(String(named)).toMatch(/^(?:"[\w.~!*()[\]%-]{0,123}"(?:, (?!$)|$)){0,6}$/);
    }),
  );
});
