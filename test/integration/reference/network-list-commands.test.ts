import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { runNetworksImport, runNetworksList, runNetworksRemove } from "@noisefloor/cli/commands/networks.ts";
import type { ImportOptions } from "@noisefloor/cli/networks/read-lists.ts";
import { readNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { runCommand } from "../../support/commands/run-command.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW, { pollIntervalMs: 1_000 });
});
afterEach(() => world.close());

test("of a folder only lists of the requested kind are imported; all others are named with the reason", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (path: string, content: unknown) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), JSON.stringify(content));
  };
  const list = (entry: string) => ({ name: "List", type: "cidr", list: [entry] });
  await write("ours.json", list("5.0.0.0/24"));
  await write("cloudflare/list.json", list("5.0.1.0/24"));
  await write("vpn-ipv4/list.json", list("5.0.2.0/24"));
  await write("shodan-scanning/list.json", list("5.0.3.0/24"));
  await write("alexa/list.json", { ...list("example.org"), type: "hostname" });
  await write("deep/er/list.json", list("5.0.4.0/24"));
  await write("v6.json", list("2001:db8::/32"));
  const { output, failure } = await runCommand(world, (command) =>
    runNetworksImport("service", folder, { force: true }, command),
  );
  const skipped = output.split("\n").filter((line) => line.startsWith("skipped "));
  expect(failure).toBe("");
  expect(skipped).toEqual([
    expect.stringMatching(/alexa.list\.json: the list holds entries of type "hostname", not networks$/),
    expect.stringMatching(/shodan-scanning.list\.json: it is a list for noisefloor actors import$/),
    expect.stringMatching(
      /vpn-ipv4.list\.json: no list of this kind by that name is known: import it by its own path$/,
    ),
    "skipped   3",
  ]);
  const riot = async (ip: string) => (await world.get(`/v3/community/${ip}`)).status === 200;
  expect(await Promise.all(["5.0.0.1", "5.0.1.1", "5.0.2.1", "5.0.3.1", "5.0.4.1"].map(riot))).toEqual([
    ...[true, true],
    ...[false, false, false],
  ]);
  const alone = join(folder, "shodan-scanning", "list.json");
  const importAlone = (force: boolean) =>
    runCommand(world, (command) => runNetworksImport("service", alone, { force }, command));
  expect((await importAlone(false)).failure).toContain("holds no list of networks to import");
  expect((await importAlone(true)).failure).toBe("");
});

test("a list may come on standard input, and the result be JSON", async () => {
  const bring = (kind: "service" | "actor", text: string, options: Partial<ImportOptions> = {}) =>
    runCommand(world, (command) =>
      runNetworksImport(
        kind,
        "-",
        { force: false, json: true, ...options },
        { ...command, stdin: Readable.from([text]) },
      ),
    );
  const list = JSON.stringify({
    name: "List",
    type: "cidr",
    list: ["5.0.0.0/24", "5.0.1.0/24", "2001:db8::/32", "bad"],
  });
  expect((await bring("service", list)).failure).toBe("a list on standard input has no name: say its id with --id");
  const imported = await bring("service", list, { id: "ours" });
  expect(imported.failure).toBe("");
  expect(JSON.parse(imported.output)).toEqual({
    lists: [{ id: "ours", name: "List", category: "unknown", trust: "3", networks: 2, ipv6: 1 }],
    rejected: [{ entry: "ours: bad", reason: expect.any(String) }],
    ...{ skipped: [], ranges: 1 },
  });
  const shrunken = await bring("service", JSON.stringify({ name: "List", list: [] }), { id: "ours" });
  expect(shrunken.failure).toMatch(/^left as they were: ours\./);
  expect(JSON.parse(shrunken.output)).toMatchObject({
    lists: [],
    skipped: [{ entry: "ours", reason: "it is empty, where 2 networks are stored" }],
  });
  const scanners = await bring("actor", "# operators\n7.0.0.1 # scan.example.org\n", { id: "mass" });
  expect(JSON.parse(scanners.output)).toMatchObject({ lists: [{ id: "mass:example-org", networks: 1 }] });
  expect((await bring("service", "7.0.0.1 # x.example.org", { id: "mass" })).failure).toContain(
    "standard input holds no list of networks to import",
  );
});

test("an empty, truncated or much smaller list does not replace the stored one, except with --force", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const networks = Array.from({ length: 10 }, (_, index) => `5.0.${index}.0/24`);
  const bring = async (list: readonly string[] | "{", force = false) => {
    const text = list === "{" ? list : JSON.stringify({ name: "Ours", type: "cidr", list });
    await writeFile(join(folder, "ours.json"), text);
    await writeFile(join(folder, "fine.json"), JSON.stringify({ name: "Fine", type: "cidr", list: ["6.0.0.0/24"] }));
    return runCommand(world, (command) => runNetworksImport("service", folder, { force }, command));
  };
  const held = async () => (await readNetworkLists(world.client, "service")).map(({ networks: held }) => held);
  expect((await bring(networks)).failure).toBe("");
  for (const shrunken of [networks.slice(0, 4), [], ["no-network"], ["2001:db8::/32"], "{"] as const) {
    const { output, failure } = await bring(shrunken);
    expect(failure).toMatch(/^left as they were: ours\. A download may be incomplete; pass --force/);
    expect(output).toMatch(/^skipped .*ours/m);
    expect(output, "the others are imported").toContain("lists     1\n");
    expect(await held()).toEqual([1, 10]);
  }
  expect((await bring(networks.slice(0, 5))).failure).toBe("");
  expect(await held()).toEqual([1, 5]);
  expect((await bring([], true)).failure).toBe("");
  expect(await held()).toEqual([1, 0]);
});

test("lists are listed and removed: the networks of a removed list are riot no more", async () => {
  await world.replaceNetworks("service", [networkList("one", ["5.0.0.0/24"]), networkList("two", ["5.0.0.0/16"])]);
  await world.replaceNetworks("actor", [networkList("one", ["7.0.0.0/24"])]);
  const remove = (...ids: string[]) => runCommand(world, (command) => runNetworksRemove("service", ids, command));
  expect((await remove("one", "three")).failure).toBe('there is no list three: see "noisefloor benign list"');
  const listed = async () =>
    (await runCommand(world, (command) => runNetworksList("service", { json: true }, command))).output;
  expect(JSON.parse(await listed())).toMatchObject([
    { id: "one", networks: 1, trust: "1" },
    { id: "two", networks: 1 },
  ]);
  expect((await remove("one")).failure).toBe("");
  expect((await world.get("/v3/community/5.0.0.1")).body).toMatchObject({ riot: true, name: "Operator of two" });
  expect((await remove("two")).failure).toBe("");
  expect((await world.get("/v3/community/5.0.0.1")).status).toBe(404);
  expect(await listed()).toBe("[]");
  expect((await readNetworkLists(world.client, "actor")).map(({ listId }) => listId)).toEqual(["one"]);
});
