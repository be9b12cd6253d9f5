import { defineQuery, run, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_FACETS } from "@noisefloor/clickhouse/client/table-names.ts";
import { FACETS } from "@noisefloor/clickhouse/facets/facets.ts";
import { readRollupView } from "@noisefloor/clickhouse/rollups/views.ts";
import { isFewValued } from "@noisefloor/domain/observation/members.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:00:00Z");
const TAGS = [makeTag("worm", "malicious"), makeTag("crawler", "benign")] as const;

let world: World;

beforeEach(async () => {
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
});
afterEach(() => world.close());

const formatted = defineQuery({
  name: "test-formatted",
  sql: "SELECT formatQuerySingleLine({sql:String}) AS sql",
  params: z.object({ sql: z.string() }),
  row: z.object({ sql: z.string() }),
});
const format = async (sql: string) => (await runForOne(world.client, formatted, { sql })).sql;

test("the view fills the fields by the SQL that other queries have of their values", async () => {
  const view = await readRollupView(world.client, "address_facets");
  const inView = new Map(
    [...view.select.matchAll(/'(\w+)'(?=[^[]*\] AS field)/g)].map(([, field = ""], at) => [field, at]),
  );
  const fields = Object.entries(FACETS).toSorted(([one], [other]) => (inView.get(one) ?? 0) - (inView.get(other) ?? 0));
  const [names, texts] = [fields.map(([field]) => `'${field}'`), fields.map(([, sql]) => sql)];
  const expected = `SELECT dataset, workspace_id, field, arrayJoin(texts) AS value, source_ip, observed_at AS last_seen
    FROM observations ARRAY JOIN [${names}] AS field, [${texts}] AS texts`;
  const { database } = world.connection;
  expect((await format(view.select)).replace(`${database}.observations`, "observations")).toBe(await format(expected));
});

const facets = defineQuery({
  name: "test-facets",
  sql: `SELECT dataset, field, value, toString(source_ip) AS ip, toUnixTimestamp64Milli(last_seen) AS at
    FROM ${ADDRESS_FACETS} FINAL`,
  params: z.object({}),
  row: z.object({ dataset: z.string(), field: z.string(), value: z.string(), ip: z.string(), at: z.int() }),
});

/** All that a sensor can say that has a value, and the values. */
const ALL = {
  wire: {
    tags: TAGS.map(({ id }) => id),
    asn: 64_500,
    organization: "Exämple 1 Ltd",
    country: "BR",
    region: "São Paulo",
    city: "SÃO Paulo",
    destination_port: 23,
    transport: "tcp",
    http: { method: "GET", path: "/A?", user_agent: "Ünit/1", host: "WWW.example.org" },
    tls: { ja3: "AB", ja4: "t13D", sni: "WWW.Example.net" },
    ssh: { hassh: "CD" },
    rdns: "Host.example.net",
    credentials: [{ username: "Root", password: "ü" }, { username: "Root" }, {}],
    commands: ["ID", ""],
    urls: ["http://WWW.example.com/A"],
    payload_sha256: ["0a".repeat(32)],
  },
  values: {
    username: ["root"],
    password: ["ü"],
    credential: ["root/ü", "root/"],
    command: ["id"],
    url: ["http://www.example.com/a"],
    callback: ["www.example.com"],
    contact: [""],
    sha256: ["0a".repeat(32)],
    tag: [...TAGS.map(({ id }) => id), ATTACK_TAG_ID],
    network: ["0000064500 Exämple 1 Ltd"],
    country: ["br"],
    region: ["são paulo"],
    city: ["são paulo"],
    port: ["00023/tcp"],
    protocol: ["tcp"],
    method: ["get"],
    path: ["/a?"],
    user_agent: ["ünit/1"],
    host: ["www.example.org"],
    ja3: ["ab"],
    ja4: ["t13d"],
    sni: ["www.example.net"],
    hassh: ["cd"],
    rdns: ["host.example.net"],
  },
};
const NOTHING = { wire: {}, values: {} };
const HALVES = [
  { wire: { transport: "icmp", commands: ["id"] }, values: { protocol: ["icmp"], command: ["id"] } },
  { wire: { destination_port: 0 }, values: { port: ["00000/"] } },
  { wire: { asn: 7 }, values: { network: ["0000000007 "] } },
  { wire: { organization: "No number" }, values: { network: ["0000000000 No number"] } },
];

test("an address has each value of its observations, in lower case, with the last time of each", async () => {
  const expected = new Map<string, number>();
  const observations = [ALL, NOTHING, ...HALVES, ALL, NOTHING].flatMap(({ wire, values }, index) =>
    ["global", "community"].map((dataset) => {
      const ip = `45.83.64.${index % 7}`;
      const at = NOW - 1_000 * index;
      const all: Readonly<Record<string, readonly string[]>> = { seen: [""], sensor: ["sénsor"], ...values };
      for (const [field, texts] of Object.entries(all)) {
        if (isFewValued(field)) continue;
        for (const value of texts) {
          const key = [dataset, field, value, ip].join("|");
          expected.set(key, Math.max(at, expected.get(key) ?? 0));
        }
      }
      return { ...wire, dataset, source_ip: ip, sensor_id: "SÉnsor", observed_at: new Date(at).toISOString() };
    }),
  );
  expect(await world.store(observations)).toMatchObject({ accepted: observations.length, rejected: [] });
  expect(
    new Set(
      Object.keys(ALL.values)
        .concat("seen")
        .filter((field) => !isFewValued(field)),
    ),
  ).toEqual(new Set(Object.keys(FACETS)));
  const rows = await run(world.client, facets, {});
  expect(new Map(rows.map(({ dataset, field, value, ip, at }) => [[dataset, field, value, ip].join("|"), at]))).toEqual(
    expected,
  );
  expect(rows).toHaveLength(expected.size);
});
