import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigError, type Environment, flag, list, readEnvironment, wholeNumber } from "./env.ts";

const schema = z.object({
  WORKERS: wholeNumber(2, 10).default(4),
  VERBOSE: flag(false),
  STRICT: flag(true),
  HOSTS: list(),
  TOKEN: z.string().default("none"),
});

function messageFor(env: Environment): string {
  try {
    readEnvironment(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "valid";
}

test("a variable that is not set has its default", () => {
  expect(readEnvironment(schema, {})).toEqual({ WORKERS: 4, VERBOSE: false, STRICT: true, HOSTS: [], TOKEN: "none" });
});

test("an empty variable counts as not set", () => {
  const env = { WORKERS: "", VERBOSE: "", STRICT: "", HOSTS: "", TOKEN: "" };
  expect(readEnvironment(schema, env)).toEqual(readEnvironment(schema, {}));
});

test("unknown variables are ignored", () => {
  expect(readEnvironment(schema, { PATH: "/bin", workers: "3", TOKEN: "t" })).toEqual({
    ...readEnvironment(schema, {}),
    TOKEN: "t",
  });
});

test("the message lists all errors, one line per variable", () => {
  const lines = messageFor({ WORKERS: "many", VERBOSE: "yes", STRICT: "off", TOKEN: "fine" }).split("\n").slice(1);
  expect(lines).toEqual([
    "  WORKERS: takes a whole number from 2 to 10",
    "  VERBOSE: takes true or false",
    "  STRICT: takes true or false",
  ]);
});

test("the message never quotes a value, which may be a secret in the wrong variable", () => {
  const message = messageFor({ WORKERS: "hunter2hunter2", VERBOSE: "correct-horse" });
  expect(message).toContain("WORKERS");
  expect(message).not.toMatch(/hunter2|horse/);
});

describe("a whole number", () => {
  test.each([
    ["2", 2],
    ["10", 10],
    ["07", 7],
  ])("%j is %i", (text, value) => {
    expect(readEnvironment(schema, { WORKERS: text }).WORKERS).toBe(value);
  });

  test.each(["1", "11", "-3", "+3", "3.0", "3e0", "0x3", " 3", "3 ", "3,", "NaN", "Infinity", "12345678901234567890"])(
    "is not %j",
    (text) => {
      expect(messageFor({ WORKERS: text })).toContain("WORKERS: takes a whole number from 2 to 10");
    },
  );
});

describe("a flag", () => {
  test("is true or false", () => {
    expect(readEnvironment(schema, { VERBOSE: "true", STRICT: "false" })).toMatchObject({
      VERBOSE: true,
      STRICT: false,
    });
  });

  test.each(["TRUE", "1", "0", "yes", "on", " true"])("is not %j", (text) => {
    expect(messageFor({ VERBOSE: text })).toContain("VERBOSE: takes true or false");
  });
});

test("a list that is set must have a value: a list of blank sensor keys must not disable the check", () => {
  expect(messageFor({ HOSTS: " , " })).toContain("HOSTS: takes values separated by commas");
});

test.each([
  ["a", ["a"]],
  ["a,b", ["a", "b"]],
  [" a , b ,, c,", ["a", "b", "c"]],
])("the list %j has the values %j", (text, values) => {
  expect(readEnvironment(schema, { HOSTS: text }).HOSTS).toEqual(values);
});
