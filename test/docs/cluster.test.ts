import { existsSync } from "node:fs";
import { readSettings, SETTINGS } from "@noisefloor/config/settings.ts";
import { beforeAll, expect, test } from "vitest";
import { CLUSTER, readCompose } from "./cluster-files.ts";
import { ROOT, readText } from "./documents.ts";
import { parseCommands } from "./parse-commands.ts";

let compose: Awaited<ReturnType<typeof readCompose>>;
beforeAll(async () => {
  compose = await readCompose();
});

/** The services that run Noisefloor. */
const processes = () => Object.entries(compose.services).filter(([, { image }]) => image === "noisefloor:latest");

/** Read by Node or by the container's image, not by Noisefloor. */
const OTHERS = ["NODE_OPTIONS"];

/** As Compose fills in variables: the default, or a value that any setting but a number takes. */
const fillIn = (value: string) =>
  value.replace(/\$\{[A-Z_]+(?::-([^}]*)|:\?[^}]*)\}/g, (_, otherwise = "x".repeat(20)) => otherwise);

test("the cluster's services are given settings that exist, with values that they take", () => {
  expect(processes().map(([name]) => name)).toEqual(["migrate", "ingest-1", "ingest-2", "query-1", "query-2"]);
  for (const [name, { environment }] of processes()) {
    const settings = Object.entries(environment).filter(([key]) => !OTHERS.includes(key));
    expect(SETTINGS, name).toEqual(expect.arrayContaining(settings.map(([key]) => key)));
    const filled = Object.fromEntries(settings.map(([key, value]) => [key, fillIn(value)]));
    expect(readSettings(filled).clickhouse.server, name).toMatchObject({ cluster: "noise" });
  }
});

test("the cluster's services run commands that exist, over files and services that are there", async () => {
  const { problems } = await parseCommands(processes().map(([, { command }]) => command));
  expect(problems).toEqual(processes().map(() => ""));
  for (const [name, service] of Object.entries(compose.services)) {
    expect(Object.keys(compose.services), name).toEqual(expect.arrayContaining(Object.keys(service.depends_on)));
    for (const [file = ""] of service.volumes.map((volume) => volume.split(":"))) {
      if (file.startsWith(".")) expect(existsSync(`${ROOT}${CLUSTER}/${file}`), `${name}: ${file}`).toBe(true);
    }
    for (const port of service.ports) expect(port, name).toMatch(/^\$\{BIND_ADDRESS:-127\.0\.0\.1\}:/);
  }
}, 60_000);

test("remote_servers lists the cluster's servers, and the proxy its processes", async () => {
  const hosts = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, host]) => host);
  const named = (pattern: RegExp) => Object.keys(compose.services).filter((name) => pattern.test(name));
  const shards = await readText(`${CLUSTER}/clickhouse/cluster.xml`);
  expect(hosts(shards, /<host>(clickhouse.+)<\/host>/g)).toEqual(named(/^clickhouse-/));
  expect(hosts(shards, /<host>(keeper.+)<\/host>/g)).toEqual(named(/^keeper-/));
  const keeper = await readText(`${CLUSTER}/clickhouse/keeper.xml`);
  expect(hosts(keeper, /<hostname>(.+)<\/hostname>/g)).toEqual(named(/^keeper-/));
  expect(shards).toContain("<noise>");
  const proxy = await readText(`${CLUSTER}/haproxy.cfg`);
  expect(hosts(proxy, /^ +server \S+ ([^:]+):8080$/gm).toSorted()).toEqual(named(/^(?:ingest|query)-/));
  expect(proxy).toContain("option httpchk GET /readyz");
});

test("every variable that the cluster's docker-compose.yml takes stands in its env.example", async () => {
  const names = (text: string, pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].toSorted();
  const taken = names(await readText(`${CLUSTER}/docker-compose.yml`), /\$\{([A-Z][A-Z0-9_]+)/g);
  expect(names(await readText(`${CLUSTER}/env.example`), /^#?([A-Z][A-Z0-9_]+)=/gm)).toEqual(taken);
});
