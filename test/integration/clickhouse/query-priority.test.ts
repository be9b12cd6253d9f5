import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, reader } from "@noisefloor/clickhouse/client/query.ts";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";

const client = connect(inject("clickhouse"), "test");
afterAll(() => client.close());

const ownSettings = defineQuery({
  name: "own-settings",
  sql: `SELECT name, value FROM system.settings
    WHERE name IN ('priority', 'os_threads_nice_value_query', 'low_priority_query_wait_time_ms') ORDER BY name`,
  params: z.object({}),
  row: z.object({ name: z.string(), value: z.string() }),
});

async function settingsOf(priority: "foreground" | "background") {
  const rows = await reader(client, { maxSeconds: 10, priority })(ownSettings, {});
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}

test("the server lets a background query yield to one in the foreground, by pauses and by niceness", async () => {
  const [foreground, background] = await Promise.all([settingsOf("foreground"), settingsOf("background")]);
  expect(foreground).toMatchObject({ priority: 1, os_threads_nice_value_query: 0 });
  expect(background).toMatchObject({
    priority: 2,
    os_threads_nice_value_query: 19,
    low_priority_query_wait_time_ms: 10,
  });
});
