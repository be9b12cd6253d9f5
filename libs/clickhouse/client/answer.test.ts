import { expect, test } from "vitest";
import { answerRows } from "./answer.ts";
import { IncompleteAnswerError, isTransient } from "./errors.ts";

const DOCUMENT = `{
	"meta": [{"name": "ip", "type": "String"}, {"name": "hits", "type": "UInt64"}],
	"data": [["45.0.0.1", 3], ["45.0.0.2", 4]],
	"rows": 2,
	"statistics": {"elapsed": 0.001}
}`;

test("the rows of a whole answer come by their column names", () => {
  expect(answerRows(DOCUMENT)).toEqual([
    { ip: "45.0.0.1", hits: 3 },
    { ip: "45.0.0.2", hits: 4 },
  ]);
  expect(answerRows('{"meta": [{"name": "ip"}], "data": [], "rows": 0}')).toEqual([]);
});

test("an answer cut at any byte is an error that passes by itself, never fewer rows", () => {
  for (let end = 0; end < DOCUMENT.length; end++) {
    let error: unknown;
    try {
      answerRows(DOCUMENT.slice(0, end));
    } catch (thrown) {
      error = thrown;
    }
    expect(error, `cut after ${end}`).toBeInstanceOf(IncompleteAnswerError);
    expect(isTransient(error)).toBe(true);
  }
});

test.each([
  ["fewer rows than it states", DOCUMENT.replace('"rows": 2', '"rows": 3')],
  ["no number of rows", DOCUMENT.replace('"rows": 2,', "")],
  ["an exception", DOCUMENT.replace('"rows": 2', '"rows": 2, "exception": "Code: 241"')],
  ["something else", "Ok.\n"],
])("an answer with %s is an error", (_, text) => {
  expect(() => answerRows(text)).toThrow(IncompleteAnswerError);
});
