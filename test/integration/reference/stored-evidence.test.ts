import { type FingerprintsOptions, runFingerprints } from "@noisefloor/cli/commands/fingerprints.ts";
import { runTagsExplainAddress } from "@noisefloor/cli/commands/tags/explain-address.ts";
import { explainRejection } from "@noisefloor/ingest/formats/explain-rejection.ts";
import { ingestBatch } from "@noisefloor/ingest/pipeline/pipeline.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const HOUR = 3_600_000;
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW);
});
afterEach(() => world.close());

async function fingerprints(more: Partial<FingerprintsOptions> = {}) {
  const command = commandOver(world);
  await runFingerprints({ since: "7d", limit: 20, json: true, ...more }, command);
  return more.json === false ? command.lines.join("\n") : JSON.parse(command.lines.join("\n"));
}

/** Counts one value after the other: slow, and simple enough to be right. */
function expectedOf(stored: readonly { ip: string; hassh: string; banner: string }[]) {
  const names = [...new Set(stored.map(({ hassh }) => hassh))];
  const tally = (some: typeof stored) => ({
    observations: some.length,
    addresses: new Set(some.map(({ ip }) => ip)).size,
  });
  const order = (one: { addresses: number; observations: number }, other: typeof one) =>
    other.addresses - one.addresses || other.observations - one.observations;
  const compare = (one: string, other: string) => (one < other ? -1 : 1);
  return names
    .map((fingerprint) => {
      const own = stored.filter(({ hassh }) => hassh === fingerprint);
      const banners = [...new Set(own.map(({ banner }) => banner))].filter((banner) => banner !== "");
      const seen_with = banners
        .map((text) => ({ text, ...tally(own.filter(({ banner }) => banner === text)) }))
        .toSorted((one, other) => order(one, other) || compare(one.text, other.text));
      return { kind: "hassh", fingerprint, ...tally(own), seen_with, seen_with_distinct: banners.length };
    })
    .toSorted((one, other) => order(one, other) || compare(one.fingerprint, other.fingerprint));
}

test("fingerprints are counted with the programs that they were seen with, each observation once", async () => {
  const random = seeded(7);
  const stored = Array.from({ length: 300 }, (_, index) => ({
    id: `o-${index}`,
    ip: `45.0.0.${random.int(1, 30)}`,
    hassh: `h${random.int(1, 6)}`,
    banner: random.pick(["", "SSH-2.0-Go", "SSH-2.0-libssh", "SSH-2.0-x"]),
    at: NOW - random.int(1, 100) * HOUR,
  }));
  const send = () =>
    world.store(
      stored.map(({ id, ip, hassh, banner, at }) =>
        observation(ip, at, { observation_id: id, ssh: { hassh, banner } }),
      ),
    );
  await send();
  await send();
  await world.store([observation("45.0.0.1", NOW - 8 * 24 * HOUR, { ssh: { hassh: "old" } })]);
  const found: Record<string, unknown>[] = await fingerprints();
  expect(found.map(({ first_seen: _first, last_seen: _last, ...rest }) => rest)).toEqual(expectedOf(stored));
  expect(await fingerprints({ limit: 2 })).toEqual(found.slice(0, 2));
  expect(await fingerprints({ kind: "ja3" })).toEqual([]);
});

test("a table says with which user agents a fingerprint was seen, and cannot control the terminal", async () => {
  const seen = (ip: string, user_agent: string) =>
    observation(ip, NOW - HOUR, { tls: { ja3: "j3", ja4: "j4" }, http: { user_agent } });
  await world.store([
    seen("45.0.0.1", "curl/8\u001b[31m"),
    ..."2345".split("").map((n) => seen(`45.0.0.${n}`, `a${n}`)),
  ]);
  const table = await fingerprints({ json: false });
  expect(table).toMatch(/ja3 +j3 +5 +5 +\S+ +a2 \(1\), a3 \(1\), a4 \(1\), and 2 more/);
  expect(table).toMatch(/ja4 +j4/);
  expect(await fingerprints({ json: false, kind: "hassh" })).toBe("none");
});

test("of each tag of an address one can ask whether a rule or a sender gave it, and when", async () => {
  const [named, ruled, both] = ["named", "ruled", "both"].map((slug) => makeTag(slug, "unknown"));
  if (named === undefined || ruled === undefined || both === undefined) throw new Error("three tags");
  await world.addTags([named, ruled, both]);
  const store = (hours: number, tags: string[]) => {
    const bytes = Buffer.from(
      JSON.stringify(observation("45.0.0.1", NOW - hours * HOUR, { tags, sensor_id: `s-${hours}` })),
    );
    const ids = [ruled.id, both.id];
    const rows = {
      assignTags: (_one: unknown, sent: readonly string[]) => ({
        tagIds: [...new Set([...sent, ...ids])],
        ruleTagIds: ids,
        sharedTagIds: ids.filter((id) => sent.includes(id)),
      }),
    };
    return ingestBatch([{ bytes, fallbackId: `f-${hours}` }], {
      catalogue: world.catalogue,
      retentionDays: () => RETENTION_DAYS,
      right: "everything",
      explain: explainRejection,
      now: () => NOW,
      sink: observationSink(world.client, { retryForMs: 0, rows }),
      storeDeadLetters: async () => {},
    }).stored;
  };
  await store(1, ["named", "both"]);
  await store(5, []);
  const command = commandOver(world);
  await runTagsExplainAddress("45.0.0.1", { json: true }, command);
  const time = (hours: number) => `${new Date(NOW - hours * HOUR).toISOString().slice(0, 19)}Z`;
  const twice = {
    dataset: "global",
    observations: 2,
    first_seen: time(5),
    last_seen: time(1),
    sensors: ["s-1", "s-5"],
  };
  const rows: { tag: string }[] = JSON.parse(command.lines.join("\n"));
  expect(rows.toSorted((one, other) => (one.tag < other.tag ? -1 : 1))).toEqual([
    { tag: "both", given_by: "rule and sender", ...twice },
    { tag: "named", given_by: "sender", ...twice, observations: 1, first_seen: time(1), sensors: ["s-1"] },
    { tag: "ruled", given_by: "rule", ...twice },
  ]);
  await expect(runTagsExplainAddress("45.0.0", { json: true }, command)).rejects.toThrow("--address takes an IPv4");
});
