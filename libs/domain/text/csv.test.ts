import { expect, test } from "vitest";
import { formatCsvLine } from "./csv.ts";

test("a text that a spreadsheet would run as a formula begins with an apostrophe", () => {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\uff1d1"];
  expect(formatCsvLine(formulas)).toBe("'=1+1,'+1,'-1,'@SUM(A1), '=1,'\uff1d1\r\n");
});

test.each([",", ";", "\t"])(
  "nor does a cell of a file that is read with another separator than ours: %j",
  (separator) => {
    const texts = [
      `a${separator}=1+1`,
      `a${separator} "=1+1`,
      `${separator}@SUM(A1)`,
      `a;b\t${separator}-1`,
      '"=1',
      "\r=1",
    ];
    const cells = formatCsvLine(texts).split(separator);
    for (const cell of cells) expect(cell).not.toMatch(/^[\s"]*[=+\-@]/);
  },
);

test("commas, quotes and line ends stay inside their field", () => {
  expect(formatCsvLine(['Example "One", Inc.', "two\nlines", "plain", ""])).toBe(
    '"Example ""One"", Inc.","two\nlines",plain,\r\n',
  );
});
