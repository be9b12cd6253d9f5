import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runNetworksImport, runNetworksList, runNetworksRemove } from "@noisefloor/cli/commands/networks.ts";
import { runTagsImport, runTagsList, runTagsRemove } from "@noisefloor/cli/commands/tags.ts";
import { importTags } from "@noisefloor/cli/reference/import-tags.ts";
import { readNetworkList } from "@noisefloor/cli/reference/network-list-file.ts";
import { addStarterTags } from "@noisefloor/cli/reference/starter-tags.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import {
  type NetworkKind,
  type NetworkList,
  readNetworkLists,
  replaceNetworkLists,
} from "@noisefloor/clickhouse/tables/networks.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { commandOver, type RunCommand } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const TODAY = new Date(NOW).toISOString().slice(0, 10);
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW, { pollIntervalMs: 1_000 });
});
afterEach(() => world.close());

const importLists = (kind: NetworkKind, lists: readonly NetworkList[], at = NOW) =>
  replaceNetworkLists(world.client, kind, lists, at);

const seen = (ip: string, tags: readonly string[] = []) => observation(ip, NOW - 2 * 86_400_000, { tags });
const TWO_DAYS_AGO = new Date(NOW - 2 * 86_400_000).toISOString().slice(0, 10);

test("riot, noise, both and neither are told apart, field by field", async () => {
  await world.addTags([makeTag("bad", "malicious")]);
  await importLists("service", [networkList("dns", ["8.8.8.0/24"])]);
  await world.store([seen("8.8.8.9", ["bad"]), seen("45.0.0.1", ["bad"]), seen("45.0.0.2")]);
  const asked = ["8.8.8.8", "8.8.8.9", "45.0.0.1", "45.0.0.2"];
  const answers = await Promise.all(asked.map((ip) => world.get(`/v3/community/${ip}`)));
  const base = { message: "Success" };
  const url = "http://noisefloor.test";
  expect(answers).toEqual([
    {
      status: 200,
      body: {
        ip: "8.8.8.8",
        noise: false,
        riot: true,
        classification: "benign",
        name: "Operator of dns",
        link: `${url}/riot/8.8.8.8`,
        last_seen: TODAY,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "8.8.8.9",
        noise: true,
        riot: true,
        classification: "malicious",
        name: "Operator of dns",
        link: `${url}/riot/8.8.8.9`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "45.0.0.1",
        noise: true,
        riot: false,
        classification: "malicious",
        name: "unknown",
        link: `${url}/ip/45.0.0.1`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
    {
      status: 200,
      body: {
        ip: "45.0.0.2",
        noise: true,
        riot: false,
        classification: "unknown",
        name: "unknown",
        link: `${url}/ip/45.0.0.2`,
        last_seen: TWO_DAYS_AGO,
        ...base,
      },
    },
  ]);
});

test("an address of a known benign actor is benign, by the actor's name, in lookups and in aggregations", async () => {
  const bad = makeTag("bad", "malicious");
  await world.addTags([bad]);
  await importLists("actor", [networkList("census", ["45.0.0.0/30"], { name: "Census Project" })]);
  await world.store(["45.0.0.3", "45.0.0.4"].map((ip) => seen(ip, ["bad"])));
  expect((await world.get("/v3/community/45.0.0.3")).body).toMatchObject({
    classification: "benign",
    name: "Census Project",
  });
  expect((await world.get("/v3/community/45.0.0.4")).body).toMatchObject({
    classification: "malicious",
    name: "unknown",
  });
  expect((await world.get(`/v3/tags/${bad.id}/activity?days=7`)).body).toMatchObject({
    aggregations: { total_ips: 2, classification: { benign: 1, malicious: 1 } },
  });
});

test("importing again replaces a list: what it no longer holds is riot no more, other lists stay", async () => {
  await importLists(
    "service",
    [networkList("one", ["5.0.0.0/24", "5.0.1.0/24"]), networkList("two", ["6.0.0.0/24"])],
    NOW - 10 * 86_400_000,
  );
  await importLists("service", [networkList("one", ["5.0.1.0/24"])]);
  expect((await world.get("/v3/community/5.0.0.1")).status).toBe(404);
  expect((await world.get("/v3/community/5.0.1.1")).body).toMatchObject({ riot: true, last_seen: TODAY });
  expect((await world.get("/v3/community/6.0.0.1")).body).toMatchObject({
    riot: true,
    last_seen: new Date(NOW - 10 * 86_400_000).toISOString().slice(0, 10),
  });
});

test("of overlapping networks the longest prefix wins, then the list's priority: random lists against brute force", async () => {
  const random = seeded(7);
  const lists = Array.from({ length: 6 }, (_, index) =>
    networkList(
      `list-${index}`,
      Array.from({ length: 40 }, () => randomNetwork(random)),
      { priority: index % 3 },
    ),
  );
  await importLists("service", lists);
  const asked = Array.from({ length: 400 }, () => `45.10.${random.int(0, 7)}.${random.int(0, 255)}`);
  const answers = await Promise.all(asked.map((ip) => world.get(`/v3/community/${ip}`)));
  const named = z.object({ name: z.string().optional() });
  for (const [index, ip] of asked.entries()) {
    const number = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
    const holding = lists
      .flatMap(({ networks, name, priority, listId }) =>
        networks.map((network) => ({ ...network, name, priority, listId })),
      )
      .filter(({ first, length }) => number >= first && number < first + 2 ** (32 - length))
      .sort((a, b) => b.length - a.length || b.priority - a.priority || a.listId.localeCompare(b.listId));
    expect(named.parse(answers[index]?.body).name, ip).toBe(holding[0]?.name);
  }
});

function randomNetwork(random: Random): string {
  const length = random.int(22, 32);
  const number = (45 << 24) + (10 << 16) + random.int(0, 2047);
  const first = number - (number % 2 ** (32 - length));
  return `${[24, 16, 8, 0].map((bits) => (first >>> bits) & 255).join(".")}/${length}`;
}

test("a warninglist file is imported as it is published", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
  const file = join(folder, "cloudflare.json");
  const entries = ["104.16.0.0/13", "1.1.1.1", "2400:cb00::/32", "not-a-network", "104.16.0.1/13", "0.0.0.0/0"];
  await writeFile(file, JSON.stringify({ name: "List of known Cloudflare IP ranges", type: "cidr", list: entries }));
  const read = await readNetworkList(file, new Map());
  await rm(folder, { recursive: true });
  expect(read.ipv6).toBe(1);
  expect(read.rejected.map(({ entry }) => entry)).toEqual([
    "cloudflare: not-a-network",
    "cloudflare: 104.16.0.1/13",
    "cloudflare: 0.0.0.0/0",
  ]);
  await importLists("service", [read.list]);
  expect((await world.get("/v3/community/104.17.2.3")).body).toMatchObject({
    riot: true,
    name: "Cloudflare IP ranges",
  });
  expect((await world.get("/v3/community/1.1.1.1")).body).toMatchObject({ riot: true });
});

/** Runs a command over the world: what it printed, and how it failed. */
async function runCommand(work: (command: RunCommand) => Promise<void>) {
  const command = commandOver(world);
  let failure = "";
  try {
    await work(command);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  return { output: command.lines.join("\n"), failure };
}

test("of a folder only lists of the kind that is meant are imported; all others are named with the reason", async () => {
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
  const { output, failure } = await runCommand((command) =>
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
    runCommand((command) => runNetworksImport("service", alone, { force }, command));
  expect((await importAlone(false)).failure).toContain("holds no list of networks to import");
  expect((await importAlone(true)).failure).toBe("");
});

test("a list that is empty, cut off or under half of what it was keeps what is stored, unless that is meant", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const networks = Array.from({ length: 10 }, (_, index) => `5.0.${index}.0/24`);
  const bring = async (list: readonly string[] | "{", force = false) => {
    const text = list === "{" ? list : JSON.stringify({ name: "Ours", type: "cidr", list });
    await writeFile(join(folder, "ours.json"), text);
    await writeFile(join(folder, "fine.json"), JSON.stringify({ name: "Fine", type: "cidr", list: ["6.0.0.0/24"] }));
    return runCommand((command) => runNetworksImport("service", folder, { force }, command));
  };
  const held = async () => (await readNetworkLists(world.client, "service")).map(({ networks: held }) => held);
  expect((await bring(networks)).failure).toBe("");
  for (const shrunken of [networks.slice(0, 4), [], ["no-network"], ["2001:db8::/32"], "{"] as const) {
    const { output, failure } = await bring(shrunken);
    expect(failure).toMatch(/^left as they were: ours\. A download may have broken off; pass --force/);
    expect(output).toMatch(/^skipped .*ours/m);
    expect(output, "the others are imported").toContain("lists     1\n");
    expect(await held()).toEqual([1, 10]);
  }
  expect((await bring(networks.slice(0, 5))).failure).toBe("");
  expect(await held()).toEqual([1, 5]);
  expect((await bring([], true)).failure).toBe("");
  expect(await held()).toEqual([1, 0]);
});

test("lists are listed and removed: what only a removed one said of an address is said no more", async () => {
  await importLists("service", [networkList("one", ["5.0.0.0/24"]), networkList("two", ["5.0.0.0/16"])]);
  await importLists("actor", [networkList("one", ["7.0.0.0/24"])]);
  const remove = (...ids: string[]) => runCommand((command) => runNetworksRemove("service", ids, command));
  expect((await remove("one", "three")).failure).toBe('there is no list three: see "noisefloor benign list"');
  const listed = async () =>
    (await runCommand((command) => runNetworksList("service", { json: true }, command))).output;
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

test("an import over a starter tag is told as that, one of which nothing is taken fails, and tags are removed by name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-tags-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const bring = async (tags: readonly object[]) => {
    await writeFile(join(folder, "tags.json"), JSON.stringify({ tags }));
    return runCommand((command) => runTagsImport(join(folder, "tags.json"), command));
  };
  await addStarterTags(world.client, NOW);
  const own = { slug: "telnet-scanner", name: "Ours" };
  const other = { id: "5f0f2e6a-9c1b-4b7a-8d53-1c2d3e4f5a6b", slug: "mirai", name: "Theirs" };
  const { output, failure } = await bring([own, other, { slug: "new-one", name: "New" }]);
  expect({ output, failure }).toEqual({
    failure: "",
    output: [
      "replaced telnet-scanner: it was a tag of the starter catalogue",
      "replaced mirai: it was a tag of the starter catalogue",
      "added     1\nchanged   0\nreplaced  2\nunchanged 0\nrejected  0",
    ].join("\n"),
  });
  expect((await bring([{ ...own, name: "Again" }])).output).toContain("changed   1\nreplaced  0\n");
  expect((await bring([{ slug: "Bad Slug", name: "x" }])).failure).toMatch(/: every tag was rejected$/);
  expect((await bring([])).failure).toMatch(/: it holds no tag$/);

  await world.catalogue.refresh();
  await world.store([seen("45.0.0.1", ["new-one"])]);
  const remove = (tags: string[], yes = false) => runCommand((command) => runTagsRemove(tags, { yes }, command));
  expect((await remove(["ssh-scanner"])).failure).toContain("tags of the starter catalogue cannot be removed");
  expect((await remove(["nothing"])).failure).toBe('there is no tag "nothing": see "noisefloor tags list"');
  expect((await remove(["new-one"])).failure).toMatch(/^Observations carry new-one: .* pass --yes/);
  expect(await remove(["new-one", other.id], true)).toEqual({ failure: "", output: "removed   2" });
  const listed = await runCommand((command) => runTagsList({ json: true }, command));
  const slugs = z.array(z.object({ slug: z.string() })).parse(JSON.parse(listed.output));
  expect(slugs.map(({ slug }) => slug)).toEqual(expect.not.arrayContaining(["new-one", "mirai"]));
});

test("a running service shows imported tags within five seconds, and importing them again changes nothing", async () => {
  const tags = [makeTag("fresh", "malicious", { name: "Fresh Worm", cves: ["CVE-2026-0001"], related: [] })];
  expect(await importTags(world.client, tags, NOW)).toMatchObject({ added: 1, changed: 0, unchanged: 0, rejected: [] });
  const shown = await eventually(async () => {
    const { body } = await world.get("/v3/tags?slug=fresh");
    expect(body).toMatchObject({ tags: [{ name: "Fresh Worm" }] });
    return body;
  }, 5_000);
  expect(await importTags(world.client, tags, NOW + 1)).toMatchObject({ added: 0, changed: 0, unchanged: 1 });
  const renamed = tags.map((tag) => ({ ...tag, name: "Old Worm" }));
  expect(await importTags(world.client, renamed, NOW + 2)).toMatchObject({ added: 0, changed: 1, unchanged: 0 });
  await eventually(async () => expect((await world.get("/v3/tags?slug=fresh")).body).not.toEqual(shown), 5_000);
});

test("a tag is changed whatever the clock of the machine says that imports it", async () => {
  const tag = makeTag("slow-clock", "unknown");
  await world.addTags([tag, makeTag("other", "unknown")]);
  const changed = { ...tag, intention: "malicious" as const };
  expect(await importTags(world.client, [changed], NOW - 86_400_000)).toMatchObject({ changed: 1 });
  await eventually(async () => {
    const { body } = await world.get("/v3/tags?slug=slow-clock");
    expect(body).toMatchObject({ tags: [{ intention: "malicious" }] });
  }, 5_000);
});

test("the tag list is filtered by part of the name, slug and CVE together, and shows relations", async () => {
  const worm = makeTag("worm", "malicious", { name: "Great Worm", cves: ["CVE-2026-0001"] });
  const scan = makeTag("scan", "unknown", {
    name: "Worm Hunter",
    related: [worm.id, "00000000-0000-4000-8000-000000000000"],
  });
  await world.addTags([worm, scan]);
  const slugs = async (query: string) =>
    z
      .object({ tags: z.array(z.object({ slug: z.string() })) })
      .parse((await world.get(`/v3/tags?${query}`)).body)
      .tags.map(({ slug }) => slug);
  expect(await slugs("")).toEqual(["scan", "worm"]);
  expect(await slugs("name=WORM")).toEqual(["scan", "worm"]);
  expect(await slugs("name=worm&slug=scan")).toEqual(["scan"]);
  expect(await slugs("cve=cve-2026-0001")).toEqual(["worm"]);
  expect(await slugs("cve=CVE-2026-0001&slug=scan")).toEqual([]);
  expect((await world.get("/v3/tags?slug=scan")).body).toEqual({
    tags: [
      {
        id: scan.id,
        label: "SCAN",
        slug: "scan",
        name: "Worm Hunter",
        category: "activity",
        intention: "unknown",
        description: "",
        references: [],
        recommend_block: false,
        cves: [],
        created_at: "2026-01-01",
        related_tags: [{ id: worm.id, name: "Great Worm", intention: "malicious", category: "activity", slug: "worm" }],
      },
    ],
  });
});

test("an imported tag takes the slug of a starter tag, unless observations already carry that one", async () => {
  await addStarterTags(world.client, NOW);
  await world.catalogue.refresh();
  await world.store([seen("45.0.0.1", ["ssh-scanner"])]);
  const result = await importTags(world.client, [makeTag("mirai", "malicious"), makeTag("ssh-scanner", "benign")], NOW);
  expect(result).toMatchObject({ added: 0, replaced: ["mirai"], rejected: [{ entry: "ssh-scanner" }] });
  expect(await addStarterTags(world.client, NOW + 1), "a taken slug is not taken back").toBe(0);
});

test("imports do not pile up: after many, only the answering ranges and the ones before them are kept", async () => {
  for (let round = 0; round < 4; round++) await importLists("service", [networkList("one", [`5.0.${round}.0/24`])]);
  await importLists("actor", [networkList("other", ["6.0.0.0/24"])]);
  const kept = defineQuery({
    name: "test-partitions",
    sql: "SELECT uniqExact(generation) AS generations FROM network_ranges WHERE kind = 'service'",
    params: z.object({}),
    row: z.object({ generations: z.int() }),
  });
  expect(await run(world.client, kept, {})).toEqual([{ generations: 2 }]);
  expect((await world.get("/v3/community/5.0.3.1")).body).toMatchObject({ riot: true });
  expect((await world.get("/v3/community/5.0.2.1")).status).toBe(404);
});

test("lists imported at the same time are all there afterwards", async () => {
  const lists = Array.from({ length: 6 }, (_, index) => networkList(`list-${index}`, [`7.0.${index}.0/24`]));
  await Promise.all(lists.map((one) => importLists("service", [one])));
  const answers = await Promise.all(lists.map((_, index) => world.get(`/v3/community/7.0.${index}.1`)));
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
});
