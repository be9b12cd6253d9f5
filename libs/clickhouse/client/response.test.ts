import { expect, test } from "vitest";
import { IncompleteResponseError, isTransient } from "./errors.ts";
import { responseRows } from "./response.ts";

const DOCUMENT = `{
	"meta": [{"name": "ip", "type": "String"}, {"name": "hits", "type": "UInt64"}],
	"data": [["45.0.0.1", 3], ["45.0.0.2", 4]],
	"rows": 2,
	"statistics": {"elapsed": 0.001}
}`;

const rowsOf = (text: string) => [...responseRows(text)].flat();

test("the rows of a whole response come by their column names", () => {
  expect(rowsOf(DOCUMENT)).toEqual([
    { ip: "45.0.0.1", hits: 3 },
    { ip: "45.0.0.2", hits: 4 },
  ]);
  expect(rowsOf('{"meta": [{"name": "ip"}], "data": [], "rows": 0}')).toEqual([]);
});

test("a response cut at any byte is an error that passes by itself, never fewer rows", () => {
  for (let end = 0; end < DOCUMENT.length; end++) {
    let error: unknown;
    try {
      rowsOf(DOCUMENT.slice(0, end));
    } catch (thrown) {
      error = thrown;
    }
    expect(error, `cut after ${end}`).toBeInstanceOf(IncompleteResponseError);
    expect(isTransient(error)).toBe(true);
  }
});

test.each([
  ["fewer rows than it states", DOCUMENT.replace('"rows": 2', '"rows": 3')],
  ["no number of rows", DOCUMENT.replace('"rows": 2,', "")],
  ["an exception", DOCUMENT.replace('"rows": 2', '"rows": 2, "exception": "Code: 241"')],
  ["something else", "Ok.\n"],
])("a response with %s is an error", (_, text) => {
  expect(() => rowsOf(text)).toThrow(IncompleteResponseError);
});

/** As the server lays a large document out. */
function largeDocument(rows: number): string {
  const lines = Array.from({ length: rows }, (_, index) => `\t\t["path,\\n\\t],\\n ${index}", ${index}, [[1,2],[3]]]`);
  const meta =
    '\t[\n\t\t{\n\t\t\t"name": "path",\n\t\t\t"type": "String"\n\t\t},\n\t\t{"name": "number"},\n\t\t{"name": "pairs"}\n\t]';
  return `{\n\t"meta":\n${meta},\n\n\t"data":\n\t[\n${lines.join(",\n")}\n\t],\n\n\t"rows": ${rows},\n\n\t"statistics": {}\n}\n`;
}

test("the rows of a large response come in pieces, all of them, in their order", () => {
  const pieces = [...responseRows(largeDocument(5_000))];
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.flat()).toEqual(
    Array.from({ length: 5_000 }, (_, number) => ({ path: `path,\n\t],\n ${number}`, number, pairs: [[1, 2], [3]] })),
  );
});

test("a large response that is cut or lost a row is an error", () => {
  const document = largeDocument(2_000);
  const cuts = Array.from({ length: 200 }, (_, index) => document.slice(0, (document.length * index) / 200));
  const lost = document.replace(/^.* 1234".*\n/m, "");
  const failed = document.replace('"rows": 2000', '"rows": 2000, "exception": "Code: 241"');
  for (const text of [...cuts, document.slice(0, -2), lost, failed]) {
    expect(() => rowsOf(text)).toThrow(IncompleteResponseError);
  }
});
