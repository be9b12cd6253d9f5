import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { afterEach, expect, inject, test, vi } from "vitest";

const client = connect(inject("clickhouse"), "test");

afterEach(async () => {
  vi.useRealTimers();
  await client.close();
});

test("a request is sent without waiting for a timer", async () => {
  // None of these ends until the test says so.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const result = await client.query({ query: "SELECT 1 AS one", format: "JSONEachRow" });
  expect(await result.json()).toEqual([{ one: 1 }]);
});
