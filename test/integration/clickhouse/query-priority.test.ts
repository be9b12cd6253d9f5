import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, reader } from "@noisefloor/clickhouse/client/query.ts";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";

const client = connect(inject("clickhouse"), "test");
afterAll(() => client.close());

const ownSettings = defineQuery({
  name: "own-settings",
  sql: `SELECT name, value FROM system.settings
    WHERE name IN ('priority', 'low_priority_query_wait_time_ms') ORDER BY name`,
  params: z.object({}),
  row: z.object({ name: z.string(), value: z.string() }),
});

async function settingsOf(priority: "foreground" | "background") {
  const rows = await reader(client, { maxSeconds: 10, priority })(ownSettings, {});
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}

test("a background query pauses for one in the foreground, for a short time", async () => {
  const [foreground, background] = await Promise.all([settingsOf("foreground"), settingsOf("background")]);
  expect(foreground).toMatchObject({ priority: 1 });
  expect(background).toMatchObject({ priority: 2, low_priority_query_wait_time_ms: 40 });
});
