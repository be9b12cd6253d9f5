import type { Query } from "@noisefloor/domain/query-language/query.ts";
import { readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { expect } from "vitest";
import type { z } from "zod";
import {
  ACTOR_NETWORK,
  type Marked,
  makeMarked,
  makeScopes,
  onlyIn,
  SERVICE_NETWORK,
  toWire,
} from "../builders/marked-observations.ts";
import { networkList } from "../builders/network-list.ts";
import { type Random, seeded } from "../builders/random.ts";
import { escaped, type QueryWords, quoted, TEXT_FIELDS } from "../builders/search-query.ts";
import type { Known } from "../oracle/address-oracle.ts";
import { matching } from "../oracle/search-oracle.ts";
import { atVolume } from "../volume.ts";
import { createWorld, makeTag, type World } from "../worlds/world.ts";

export const HOUR = 60 * 60 * 1000;
export const DAY = 24 * HOUR;
export const NOW = Date.now();
const SCOPES = makeScopes(["team", "others"]);
const OBSERVATIONS = atVolume(400, 4_000);
export const ACTOR = "Operator of census";

export const TAGS = [
  ...Array.from({ length: 6 }, (_, index) =>
    makeTag(`everywhere-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown", {
      name: `Everywhere Scanner ${index}`,
      cves: index % 2 === 0 ? [`CVE-2026-${1_000 + index}`] : [],
    }),
  ),
  ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious")),
];
export const DATASETS = ["global", "community", "personal"];
export const ODD_PATHS = ["/Wp-Login.php", "/100%_sure", "/a\\b?c=*", "/ÄÖ/Straße", "/two\nlines", '/"quoted"'];
const ODD_AGENTS = ["Mozilla/5.0 (X11; Ubuntu)", "masscan/1.3", "ИНДЕКС Робот 2"];

/** Some texts with signs that mean something in a query, in SQL or in a pattern. */
function withOddTexts(random: Random, one: Marked): Marked {
  return {
    ...one,
    ...(random.chance(0.4) ? { path: random.pick(ODD_PATHS), method: random.pick(["GET", "Post"]) } : {}),
    ...(random.chance(0.3)
      ? { userAgent: random.pick(ODD_AGENTS), organization: random.pick(["Example, Inc.", "EXAMPLE Hosting Ltd"]) }
      : {}),
  };
}

/** A fifth of the addresses were last seen before the reach of a plan, however many observations there are. */
function withOldAddresses(one: Marked): Marked {
  const recent = NOW - 31 * DAY;
  return Number(one.ip.split(".")[3]) % 5 === 0 && one.at > recent ? { ...one, at: one.at - 31 * DAY } : one;
}

/** The observations of the world: of its workspaces, and of the shared datasets. */
export const SEEN: readonly Marked[] = (() => {
  const random = seeded(7);
  const marked = makeMarked(random, { scopes: SCOPES, tags: TAGS, count: OBSERVATIONS, now: NOW });
  return marked.map((one) => withOldAddresses(withOddTexts(random, one)));
})();

type Caller = { readonly key: string; readonly workspace: string; readonly isEntitled: boolean };
export type SearchWorld = {
  readonly world: World;
  /** One of them may know all sensors. */
  readonly callers: readonly [plain: Caller, entitled: Caller];
  /** What a GET answers with the status 200. */
  read<T>(schema: z.ZodType<T>, path: string, parameters: Record<string, string>, key: string): Promise<T>;
};

/** A world with random observations, in random order, some of which arrive twice. */
export async function openSearchWorld(): Promise<SearchWorld> {
  const random = seeded(8);
  const world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", [ACTOR_NETWORK], { name: ACTOR })]);
  await world.replaceNetworks("service", [
    networkList("cloud", [SERVICE_NETWORK], { trustLevel: "2" }),
    networkList("resolver", ["45.1.0.8/30"], { trustLevel: "1" }),
  ]);
  const addCaller = async (workspace: string, isEntitled: boolean): Promise<Caller> => {
    const entitlements = ["community_dataset", ...(isEntitled ? (["sensors"] as const) : [])] as const;
    return { key: await world.addCaller("unlimited", entitlements, workspace), workspace, isEntitled };
  };
  const callers = [await addCaller("team", false), await addCaller("others", true)] as const;
  const wire = SEEN.map(toWire);
  const queue = random.shuffle([...wire, ...wire.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const { rejected } = await world.store(queue.splice(0, random.int(1, atVolume(400, 4_000))));
    expect(rejected).toEqual([]);
  }
  return {
    world,
    callers,
    async read(schema, path, parameters, key) {
      const { status, body } = await world.get(`${path}?${new URLSearchParams(parameters)}`, { key });
      expect(status, `${JSON.stringify(parameters)}: ${JSON.stringify(body).slice(0, 400)}`).toBe(200);
      return schema.parse(body);
    },
  };
}

const serviceOf = (ip: string) => {
  if (!ip.startsWith("45.1.0.")) return undefined;
  const isResolver = Number(ip.split(".")[3]) >= 8 && Number(ip.split(".")[3]) < 12;
  const nothing = { category: "", name: "", description: "", explanation: "", last_updated: "", reference: "" };
  return { ...nothing, trust_level: isResolver ? "1" : "2" };
};

export const numberOf = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

export const wordsOf = (stored: readonly Marked[]): QueryWords => ({
  ...{ seen: stored, tags: TAGS, actors: [ACTOR, "Operator of nothing"], now: NOW },
});

/** What a caller of a workspace sees of some datasets. */
export function knownIn(stored: readonly Marked[], datasets: readonly string[], workspace: string): Known {
  const isVisible = ({ dataset, workspaceId }: Marked) =>
    datasets.includes(dataset) && (dataset !== "personal" || workspaceId === workspace);
  return {
    seen: stored.filter(isVisible),
    tags: TAGS,
    serviceOf,
    actorOf: (ip) => (ip.startsWith("45.2.0.") ? ACTOR : undefined),
  };
}

/** The addresses that match. Sensors of shared datasets are not for all to know. */
export function matchingOf(query: string, known: Known, isEntitled: boolean): string[] {
  return matching(parse(query), known, (one) => isEntitled || one.dataset === "personal");
}

export function parse(query: string): Query {
  const tree = readQuery(query, NOW);
  if (!("query" in tree)) throw new Error(`${query}: ${JSON.stringify(tree.errors)}`);
  return tree.query;
}

/** For each field whose values are texts, a condition on a stored value, and one on a pattern of it. */
export const CONDITIONS: readonly (readonly [whole: string, pattern: string])[] = Object.entries(TEXT_FIELDS).map(
  ([field, textOf]) => {
    const text = SEEN.map(textOf).find((value) => value);
    if (text === undefined) throw new Error(`no observation has a value of ${field}`);
    return [`${field}:${quoted(text)}`, `${field}:*${escaped(text.slice(1))}`];
  },
);
