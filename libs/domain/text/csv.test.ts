import { expect, test } from "vitest";
import { formatCsvLine } from "./csv.ts";

test("a text that a spreadsheet would run as a formula begins with an apostrophe", () => {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"];
  expect(formatCsvLine(formulas)).toBe("'=1+1,'+1,'-1,'@SUM(A1),'\t=1,\"'\r=1\"\r\n");
});

test("commas, quotes and line ends stay inside their field", () => {
  expect(formatCsvLine(['Example "One", Inc.', "two\nlines", "plain", ""])).toBe(
    '"Example ""One"", Inc.","two\nlines",plain,\r\n',
  );
});
