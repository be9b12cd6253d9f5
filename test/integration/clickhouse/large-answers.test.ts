import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery, reader, run } from "@noisefloor/clickhouse/client/query.ts";
import { responseRows } from "@noisefloor/clickhouse/client/response.ts";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";

const ROWS = 20_000;
const SQL = `SELECT number AS id, [number, 1] AS pair, char(34, 10, 9, 93, 44, 10) AS text FROM numbers(${ROWS})`;
const expected = Array.from({ length: ROWS }, (_, id) => ({ id, pair: [id, 1], text: '"\n\t],\n' }));

const client = connect(inject("clickhouse"), "test");
afterAll(() => client.close());

test("a large answer of the server is parsed in pieces", async () => {
  const result = await client.query({ query: SQL, format: "JSONCompact" });
  const pieces = [...responseRows(await result.text())];
  expect(pieces.length).toBeGreaterThan(10);
  expect(pieces.flat()).toEqual(expected);
});

test("a query has all rows of a large answer, checked, and others get their turn meanwhile", async () => {
  const row = z.object({ id: z.int(), pair: z.tuple([z.int(), z.int()]), text: z.string() });
  const numbers = defineQuery({ name: "numbers", sql: SQL, params: z.object({}), row });
  let turns = 0;
  const watched = new Proxy(client, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name);
      return async (query: Parameters<typeof client.query>[0]) => {
        const result = await target.query(query);
        const read = result.text.bind(result);
        result.text = async () => {
          const text = await read();
          // Until here the event loop had nothing to do but to wait for the server.
          turns = 0;
          return text;
        };
        return result;
      };
    },
  });
  let immediate = setImmediate(function count() {
    turns++;
    immediate = setImmediate(count);
  });
  const rows = await run(watched, numbers, {});
  clearImmediate(immediate);
  expect(rows).toEqual(expected);
  expect(turns).toBeGreaterThan(100);
});

const block = z.object({ id: z.custom<NumberColumn>((value) => value instanceof Uint32Array) });
const inBlocks = defineQuery({
  name: "blocks",
  sql: `SELECT toUInt32(number) AS id FROM numbers(${ROWS}) SETTINGS max_block_size = 5000`,
  params: z.object({}),
  row: block,
  format: "Native",
});

test("the blocks of a large answer are handed on one after the other, and the time for that is not the server's", async () => {
  const seconds: number[] = [];
  const read = reader(client, {
    maxSeconds: 10,
    onEnd: (_query, outcome, took) => seconds.push(outcome === "answered" ? took : -1),
  });
  const ids: number[] = [];
  const onBlock = async ({ id }: { readonly id: NumberColumn }) => {
    await sleep(500);
    ids.push(...id);
  };
  expect(await read({ ...inBlocks, onBlock }, {})).toEqual([]);
  expect(ids).toEqual(expected.map(({ id }) => id));
  expect((await read(inBlocks, {})).flatMap(({ id }) => [...id])).toEqual(ids);
  expect(seconds).toHaveLength(2);
  // Four blocks took two seconds.
  expect(seconds[0]).toBeGreaterThanOrEqual(0);
  expect(seconds[0]).toBeLessThan(2);
});

test("an answer that is longer than the server's buffer is read whole, and one that an error ends fails", async () => {
  const count = 6_000_000;
  const ids = (value: string) => ({ ...inBlocks, sql: `SELECT toUInt32(${value}) AS id FROM numbers(${count})` });
  const blocks = await run(client, ids("number"), {});
  expect(blocks.reduce((sum, { id }) => sum + id.length, 0)).toBe(count);
  expect(blocks.at(-1)?.id.at(-1)).toBe(count - 1);
  await expect(run(client, ids(`number + throwIf(number = ${count - 1})`), {})).rejects.toThrow();
});

test("an error in the work on a block ends the answer, and so does a caller who has gone", async () => {
  const outcomes: string[] = [];
  const read = reader(client, { maxSeconds: 10, onEnd: (_query, outcome) => outcomes.push(outcome) });
  const fail = async () => {
    throw new Error("no memory");
  };
  await expect(read({ ...inBlocks, onBlock: fail }, {})).rejects.toThrow("no memory");
  const caller = new AbortController();
  let blocks = 0;
  const onBlock = async () => {
    blocks++;
    caller.abort(new Error("gone"));
  };
  await expect(read({ ...inBlocks, onBlock }, {}, caller.signal)).rejects.toThrow();
  expect([blocks, outcomes]).toEqual([1, ["failed", "cancelled"]]);
  expect(await read(inBlocks, {})).not.toHaveLength(0);
});
