import { describe, expect, test } from "vitest";
import { HttpError } from "../responses/errors.ts";
import { boolean, readParameter, text, wholeNumber } from "./parameters.ts";

const days = wholeNumber({ name: "days", description: "", min: 1, max: 90, fallback: 1 });
const includeIps = boolean({ name: "include_ips", description: "" });
const q = text({ name: "q", description: "", example: "" });

function errorResponse(ask: () => unknown): { status: number; message: string } | "answered" {
  try {
    ask();
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, message: error.message };
    throw error;
  }
  return "answered";
}

describe("a parameter", () => {
  test("that is left out has its default", () => {
    expect(readParameter({}, days)).toBe(1);
    expect(readParameter({ days: undefined, other: "7" }, days)).toBe(1);
    expect(readParameter({}, includeIps)).toBe(false);
  });

  test("that cannot be read is a 400 which names it and says what it takes", () => {
    expect(errorResponse(() => readParameter({ days: "91" }, days))).toEqual({
      status: 400,
      message: "Invalid parameter: days takes a whole number from 1 to 90",
    });
    expect(errorResponse(() => readParameter({ include_ips: "yes" }, includeIps))).toEqual({
      status: 400,
      message: "Invalid parameter: include_ips takes true, false, 1 or 0",
    });
  });

  test("that is given twice is a 400, even with the same value", () => {
    const twice = { status: 400, message: "Invalid parameter: days was given more than once" };
    expect(errorResponse(() => readParameter({ days: ["1", "1"] }, days))).toEqual(twice);
    expect(errorResponse(() => readParameter({ days: ["1", "2"] }, days))).toEqual(twice);
  });

  test("of free text is taken as it is written, an empty one as left out", () => {
    expect(readParameter({ q: " a " }, q)).toBe(" a ");
    expect(readParameter({ q: "" }, q)).toBeUndefined();
    expect(readParameter({}, q)).toBeUndefined();
  });
});

describe("a whole number", () => {
  test("is every one within its limits", () => {
    const numbers = Array.from({ length: 90 }, (_, index) => index + 1);
    expect(numbers.map((number) => readParameter({ days: String(number) }, days))).toEqual(numbers);
  });

  test("may be zero where the limits say so", () => {
    expect(
      readParameter({ offset: "0" }, wholeNumber({ name: "offset", description: "", min: 0, max: 10, fallback: 5 })),
    ).toBe(0);
  });

  test.each([
    ...["0", "91", "-1", "+1", "01", "1.0", "1.5", "1e1", "0x1", "1,0", "", " ", " 1", "1 ", "1\n", "one", "NaN"],
    ...["Infinity", "1d", "9999999999", "\uff11"],
  ])("is not %j", (text) => {
    expect(errorResponse(() => readParameter({ days: text }, days))).toMatchObject({ status: 400 });
  });
});

describe("a boolean", () => {
  test.each([
    ["true", true],
    ["1", true],
    ["false", false],
    ["0", false],
  ])("%s is %s", (text, value) => {
    expect(readParameter({ include_ips: text }, includeIps)).toBe(value);
  });

  test.each(["", "yes", "no", "TRUE", "False", "t", "2", "-1", "00", " true", "null", "on"])("is not %j", (text) => {
    expect(errorResponse(() => readParameter({ include_ips: text }, includeIps))).toMatchObject({ status: 400 });
  });

  test("may have other spellings where a client is known to send them", () => {
    const quick = boolean({ name: "quick", description: "", alsoTrue: ["True"], alsoFalse: ["False"] });
    expect(["True", "true", "1"].map((text) => readParameter({ quick: text }, quick))).toEqual([true, true, true]);
    expect(["False", "false", "0"].map((text) => readParameter({ quick: text }, quick))).toEqual([false, false, false]);
    expect(errorResponse(() => readParameter({ quick: "TRUE" }, quick))).toMatchObject({ status: 400 });
  });
});
