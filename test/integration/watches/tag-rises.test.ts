import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { GLOBAL_SCOPE, type Scope } from "@noisefloor/domain/access/scope.ts";
import { openRises, whyNoRises } from "@noisefloor/query/watches/tag-rises/rises.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
const DAYS = 20;
/** The beginning of the current hour, of which ten minutes have gone. */
const HOUR_NOW = Math.floor(Date.now() / HOUR) * HOUR;
const tag = makeTag("rising", "malicious");
const OWN: Scope = { dataset: "personal", workspaceId: "ours" };

let world: World;
let now: number;
beforeEach(async () => {
  now = HOUR_NOW + HOUR / 6;
  world = await createWorld(() => now);
});
afterEach(() => world.close());

type Stored = {
  /** How many hours ago, of the current one. */
  readonly ages: readonly number[];
  readonly addresses: number;
  readonly firstAddress?: number;
  readonly tags?: readonly string[];
  readonly scope?: Scope;
};

/** Stores an observation of each address in each hour. */
async function store({ ages, addresses, firstAddress = 0, tags = [tag.id], scope = GLOBAL_SCOPE }: Stored) {
  await world.client.insertSelect({
    query: `INSERT INTO ${OBSERVATIONS}
        (observation_id, observed_at, dataset, workspace_id, sensor_id, source_ip, transport, tags)
      SELECT toString(generateUUIDv4()), fromUnixTimestamp64Milli(toInt64({now:Int64} - age * ${HOUR}), 'UTC'),
        {dataset:String}, {workspace:String}, 's', toIPv4(toUInt32(757071872 + {first:UInt32} + number)), 'tcp',
        {tags:Array(UUID)}
      FROM (SELECT arrayJoin({ages:Array(UInt32)}) AS age) ARRAY JOIN range({addresses:UInt32}) AS number`,
    query_params: {
      ...{ now: HOUR_NOW, dataset: scope.dataset, workspace: scope.workspaceId, first: firstAddress },
      ...{ tags, ages, addresses },
    },
  });
}

const ages = (from: number, days = DAYS) => Array.from({ length: days * 24 - from }, (_, age) => from + age);
const isMissing = (age: number) => age > 30 && age < 100;

/** Five addresses with the tag and fifty others in each hour but some, in which the store was down. */
async function storePast(days = DAYS) {
  const stored = ages(0, days).filter((age) => !isMissing(age));
  await store({ ages: stored, addresses: 5 });
  await store({ ages: stored, addresses: 50, firstAddress: 1_000, tags: [] });
}

const open = () =>
  openRises({ read: reader(world.client, { maxSeconds: 60 }), retentionDays: () => RETENTION_DAYS, now: () => now });
const find = (scopes: readonly Scope[] = [GLOBAL_SCOPE], finder = open()) =>
  finder([{ tagId: tag.id, scopes }], new AbortController().signal);
const hoursOf = (rises: Awaited<ReturnType<typeof find>>) =>
  rises.map(({ hour, count }) => [(HOUR_NOW - hour) / HOUR, count]);

test("a rise is found in the hour that goes on, with the exact count, what is usual and the hours that it was made from", async () => {
  await storePast();
  const finder = open();
  expect(await find(undefined, finder)).toEqual([]);
  // Of the twenty, five have been there before.
  await store({ ages: [0], addresses: 20 });
  const rises = await find(undefined, finder);
  expect(rises).toMatchObject([{ tagId: tag.id, hour: HOUR_NOW, count: 20, expected: { median: 5 } }]);
  const { low = 0, high = 0, madeFrom = [] } = rises[0]?.expected ?? {};
  expect([low < 5, high > 5, high < 20]).toEqual([true, true, true]);
  const past = ages(2).filter((age) => !isMissing(age) && [23, 0, 1].includes(age % 24));
  expect(madeFrom.map(({ hour, count }) => [(HOUR_NOW - hour) / HOUR, count])).toEqual(
    past.toReversed().map((age) => [age, 5]),
  );
});

test("the last full hour is judged once it is over, and data that comes late about hours before it is no rise", async () => {
  await storePast();
  await store({ ages: [2, 3, 4], addresses: 24 });
  expect(await find()).toEqual([]);
  await store({ ages: [1], addresses: 40 });
  expect(hoursOf(await find())).toEqual([[1, 40]]);
  now += HOUR;
  expect(await find()).toEqual([]);
});

test("more of everything is more sensors, and no rise", async () => {
  await storePast();
  await store({ ages: [0], addresses: 20 });
  await store({ ages: [0], addresses: 250, firstAddress: 1_000, tags: [] });
  expect(await find()).toEqual([]);
});

test("a workspace's own observations count for its watches alone, and an address of two datasets counts once", async () => {
  await storePast();
  await store({ ages: [0], addresses: 25, scope: OWN });
  expect(await find()).toEqual([]);
  expect(hoursOf(await find([GLOBAL_SCOPE, OWN]))).toEqual([[0, 25]]);
  expect(await find([GLOBAL_SCOPE, { ...OWN, workspaceId: "theirs" }])).toEqual([]);
});

test("nothing rises before two weeks of data, nor ever where less is kept", async () => {
  await storePast(14);
  await store({ ages: [0], addresses: 40 });
  expect(await find()).toEqual([]);
  await store({ ages: [14 * 24 + 1], addresses: 5 });
  expect(hoursOf(await find())).toEqual([[0, 40]]);
  expect(whyNoRises(RETENTION_DAYS)).toBeUndefined();
  expect(whyNoRises(14)).toMatch(/^tag_rises compares with more than two weeks of data, .* kept for 14 days$/);
});
