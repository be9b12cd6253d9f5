import { memoryBudget } from "@noisefloor/http/requests/memory-budget.ts";
import { expect, test } from "vitest";
import { readSplunkEvents } from "./events.ts";

/** Reads a body with memory of these bytes, of which another request has taken one. */
async function read(body: string, bytes = 1_000_000) {
  const budget = memoryBudget(bytes);
  const [other, own] = [budget.reserve("another"), budget.reserve("a sender")];
  other.hold();
  own.hold();
  other.grow(1);
  const { events, sourcetype } = await readSplunkEvents(Buffer.from(body), own);
  return { events: events.map(({ bytes: record }) => String(record)), sourcetype };
}

test("an event that is an object goes on in the very bytes that it came in", async () => {
  const event = '{ "a" : 1.0,\n "__proto__": [1], "a": "\\u00e9" }';
  const { events, sourcetype } = await read(` {"time":1,"event":${event},"sourcetype":"cowrie"}\n\n{"event" : [1, 2]}`);
  expect(events).toEqual([event, "[1, 2]"]);
  expect(sourcetype, "they do not agree").toBeUndefined();
});

test("an event that is a text goes on as the text", async () => {
  expect((await read('{"event":"a plain line"}{"event":"{\\"b\\":\\"\\\\u00e9\\\\n\\"}"}')).events).toEqual([
    "a plain line",
    '{"b":"\\u00e9\\n"}',
  ]);
});

test("an event of several lines, objects or elements in a text is as many records", async () => {
  const event = (text: string) => JSON.stringify({ event: text });
  expect((await read(event('{"a":1}\r\n{"b":2}\n'))).events).toEqual(['{"a":1}', '{"b":2}']);
  expect((await read(event('[{"a":1},{"b":2}]'))).events).toEqual(['{"a":1}', '{"b":2}']);
  expect((await read(event("one line\nanother"))).events).toEqual(["one line", "another"]);
  expect((await read(event('{\n"a":1}'))).events).toEqual(['{\n"a":1}']);
});

test("what an envelope says about its event goes with it", async () => {
  const body = [
    { event: { a: 1 }, host: "pot", time: 1_795_179_600.235 },
    { event: { a: 2 }, time: "1795179600" },
    { event: { a: 3 }, fields: { hostname: "pot-2" } },
    { event: { a: 4 }, host: { not: "a text" } },
    { event: { a: 5 } },
  ];
  const budget = memoryBudget(1_000_000).reserve("a sender");
  const { events } = await readSplunkEvents(Buffer.from(body.map((one) => JSON.stringify(one)).join("\n")), budget);
  expect(events.map(({ envelope }) => envelope)).toEqual([
    { sensor: "pot", time: 1_795_179_600.235 },
    { sensor: undefined, time: "1795179600" },
    { sensor: "pot-2", time: undefined },
    { sensor: undefined, time: undefined },
    undefined,
  ]);
});

test("names may be escaped, and of one that repeats the last counts", async () => {
  const body = '{"event":1,"ev\\u0065nt":{"a":2},"fields":{"event":3},"sourcetype":"x","sourcetype":"zeek"}';
  expect(await read(body)).toEqual({ events: ['{"a":2}'], sourcetype: "zeek" });
});

test("a nested event does not keep its neighbours away", async () => {
  const nested = "[".repeat(100_000) + "]".repeat(100_000);
  const { events } = await read(`{"event":{"a":1}}{"event":${nested}}{"fields":${nested},"event":{"a":2}}`);
  expect(events).toEqual(['{"a":1}', nested, '{"a":2}']);
});

test.each([
  ["", "No data"],
  ["{", "Invalid data format: the body is not a sequence of JSON objects"],
  ['{"event":1}x', "Invalid data format: the body is not a sequence of JSON objects"],
  ['{"event":1}{"events":1}', 'Invalid data format: event 2 has no member "event"'],
  ['{"event":""}', 'Invalid data format: event 1 has no member "event"'],
  ['["event"]', 'Invalid data format: event 1 has no member "event"'],
  ["1", 'Invalid data format: event 1 has no member "event"'],
])("%s is rejected as a whole", async (body, message) => {
  await expect(read(body)).rejects.toMatchObject({ status: 400, message });
});

test("what texts stand for counts against the memory of the request", async () => {
  const body = `{"event":"${"\\n".repeat(1_000)}"}`;
  expect((await read(body, 10_000)).events).toEqual(["\n".repeat(1_000)]);
  await expect(read(body, 3_000)).rejects.toMatchObject({ status: 503 });
});
