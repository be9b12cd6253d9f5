import { answerRows } from "@noisefloor/clickhouse/client/answer.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";

const ROWS = 20_000;
const SQL = `SELECT number AS id, [number, 1] AS pair, char(34, 10, 9, 93, 44, 10) AS text FROM numbers(${ROWS})`;
const expected = Array.from({ length: ROWS }, (_, id) => ({ id, pair: [id, 1], text: '"\n\t],\n' }));

const client = connect(inject("clickhouse"), "test");
afterAll(() => client.close());

test("a large answer of the server is parsed in pieces", async () => {
  const result = await client.query({ query: SQL, format: "JSONCompact" });
  const pieces = [...answerRows(await result.text())];
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
