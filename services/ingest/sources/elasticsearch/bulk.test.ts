import { expect, test } from "vitest";
import { readBulk } from "./bulk.ts";

const read = async (body: string, index?: string) =>
  (await readBulk(Buffer.from(body), index)).map(({ document, ...about }) => ({
    ...about,
    document: document?.toString(),
  }));

test("each action has the line after it as its document, in the very bytes that it came in", async () => {
  const document = '{ "a" : 1.0, "__proto__": [1] }';
  const body = `\ufeff{"index":{"_index":"a","_id":7}}\r\n${document}\r\n\n \n{"create":{}}\n${document}`;
  expect(await read(body, "of-the-path")).toEqual([
    { action: "index", index: "a", id: "7", document },
    { action: "create", index: "of-the-path", id: undefined, document },
  ]);
});

test("a delete has no document, and an action at a body's end or before a blank line has none either", async () => {
  const body = '{"delete":{"_id":"a"}}\n{"index":{"_id":""}}\n\n{"update":{"_id":null}}\n';
  expect(await read(body)).toEqual([
    { action: "delete", index: undefined, id: "a", document: undefined },
    { action: "index", index: undefined, id: undefined, document: undefined },
    { action: "update", index: undefined, id: undefined, document: undefined },
  ]);
});

test.each([
  ["", "The request body is empty"],
  ["\n", "The request body has no action"],
  ['{"index":{}}\n{}\n{"a":1}\n', /^Malformed .* of action 2: /],
  ['{"index":1}\n{}\n', /^Malformed .* of action 1: /],
  ['{"constructor":{}}\n{}\n', /^Malformed .* of action 1: /],
  ["[]\n{}\n", /^Malformed .* of action 1: /],
  ["{", /^Malformed .* of action 1: /],
])("%j is rejected as a whole", async (body, message) => {
  await expect(read(body)).rejects.toMatchObject({ status: 400, message: expect.stringMatching(message) });
});
