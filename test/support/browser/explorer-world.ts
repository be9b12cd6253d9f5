import { consumerLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { replaceTagRules } from "@noisefloor/clickhouse/tags/tag-rules.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import type { Browser } from "playwright-core";
import { expect } from "vitest";
import { networkList } from "../builders/network-list.ts";
import { builtExplorer } from "../servers/on-demand.ts";
import { makeApp } from "../worlds/http.ts";
import { createWorld, makeTag, type World } from "../worlds/world.ts";
import { launchBrowser } from "./browser.ts";

export const NOW = Date.now();
export const [NOISE, RIOT, UNKNOWN] = ["45.0.0.1", "8.8.8.8", "45.9.9.9"];
export const SCRIPT = "<script>alert(1)</script>";
/** More than the API lists of a bucket. */
export const CROWD = 1_005;
const worm = makeTag("worm", "malicious", {
  name: `Worm ${SCRIPT}`,
  category: "worm",
  description: SCRIPT,
  references: ["javascript:alert(5)", "https://example.org/worm"],
  cves: ["CVE-2026-0001"],
});
export const scanner = makeTag("scanner", "suspicious", { name: "Scanner", related: [worm.id] });
/** What the rule of the tag `scanner` matches. */
export const RULE = `- path|contains:\n    - ${SCRIPT}\n    - \u202e\n  port: 80\n`;

export type ExplorerWorld = {
  readonly world: World;
  readonly url: string;
  readonly browser: Browser;
  /** Of a workspace that may see everything. */
  readonly key: string;
  close(): Promise<void>;
};

/** A browser, and the explorer of a database with hostile texts of sensors. @param now the clock of the services. */
export async function openExplorerWorld(now: () => number = () => NOW): Promise<ExplorerWorld> {
  const explorer = readExplorer(await builtExplorer());
  expect(explorer).toBeDefined();
  const launching = launchBrowser();
  const world = await createWorld(now);
  await world.addTags([worm, scanner]);
  await consumerLag.write(world.client, [{ topic: "scan<b>", messages: 1_234, seenAt: NOW - 60_000 }]);
  await replaceTagRules(world.client, new Map([["scanner", RULE]]), NOW);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"], { name: `DNS ${SCRIPT}` })]);
  const observed_at = new Date(NOW - 60_000).toISOString();
  const seen = { observed_at, sensor_id: `s ${SCRIPT}`, organization: SCRIPT, asn: 64_500, country: "DE" };
  const http = { method: "GET", path: `/${SCRIPT}`, user_agent: `"><img src=x onerror=alert(2)> \u202e${SCRIPT}` };
  const { rejected } = await world.store([
    ...["a", "b", "c"].map((path) => ({
      ...seen,
      source_ip: NOISE,
      established: true,
      destination_port: 80,
      tags: ["worm", "scanner"],
      http: { ...http, path: `${http.path}${path}` },
    })),
    {
      ...seen,
      observed_at: new Date(NOW - 3_600_000).toISOString(),
      source_ip: NOISE,
      tags: ["scanner"],
      login_attempts: 1_234,
      credentials: [{ username: "root", password: SCRIPT }, {}],
      commands: [`echo ${SCRIPT} > /tmp/x`],
      urls: [`javascript:alert(9)//${SCRIPT}`],
    },
    ...Array.from({ length: CROWD }, (_, n) => ({
      ...seen,
      source_ip: `45.1.${n >> 8}.${n & 255}`,
      established: true,
      tags: ["scanner"],
    })),
  ]);
  expect(rejected).toEqual([]);
  const hour = Math.floor(NOW / 3_600_000) * 3_600_000;
  const sent = { hour, source: "kafka", keyId: "", workspaceId: "", sensorId: `tap ${SCRIPT}`, isRest: false };
  const counted = { ...sent, format: "cowrie", process: "11111111-1111-4111-8111-111111111111", lastAt: hour };
  await writeSensorCounts(world.client, [
    { ...counted, outcome: "accepted", records: 1_500 },
    { ...counted, outcome: "not-json", records: 500 },
  ]);
  const key = await world.addCaller("unlimited", ["community_dataset", "sensors"]);
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics, { explorer }));
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const browser = await launching;
  const close = async () => {
    await browser.close();
    await app.close();
    await world.close();
  };
  return { world, url, browser, key, close };
}
