import { expect, test } from "vitest";
import { readContent } from "../../../test/support/ingest/decode.ts";

const read = (content: string) => readContent(content, "observations");

test("a line is one observation", async () => {
  expect(await read('{"sensor_id":"a"}\n\n{"sensor_id":"b"}\r\n')).toEqual([
    { bytes: Buffer.from('{"sensor_id":"a"}'), value: { sensor_id: "a" } },
    { bytes: Buffer.from('{"sensor_id":"b"}'), value: { sensor_id: "b" } },
  ]);
});

test("a line may be an array of observations, each of which is a record of its own", async () => {
  expect(await read('[{"a":1}, {"a":2}]\n{"a":3}\n[]\n')).toEqual([
    { bytes: Buffer.from('{"a":1}'), value: { a: 1 } },
    { bytes: Buffer.from('{"a":2}'), value: { a: 2 } },
    { bytes: Buffer.from('{"a":3}'), value: { a: 3 } },
  ]);
});

test("a line that is not JSON is rejected unchanged, and its neighbours are read", async () => {
  expect(await read('{"a":1}\nnot json\n[1,\n{"a":2}')).toEqual([
    { bytes: Buffer.from('{"a":1}'), value: { a: 1 } },
    { bytes: Buffer.from("not json"), rejection: { reason: "not-json", detail: "the record is not JSON" } },
    { bytes: Buffer.from("[1,"), rejection: { reason: "not-json", detail: "the record is not JSON" } },
    { bytes: Buffer.from('{"a":2}'), value: { a: 2 } },
  ]);
});

test("a record beyond 64 KiB is rejected with all its bytes", async () => {
  const large = JSON.stringify({ city: "x".repeat(70_000) });
  expect(await read(`${large}\n{"a":1}`)).toEqual([
    { bytes: Buffer.from(large), rejection: expect.objectContaining({ reason: "oversize" }) },
    { bytes: Buffer.from('{"a":1}'), value: { a: 1 } },
  ]);
});
