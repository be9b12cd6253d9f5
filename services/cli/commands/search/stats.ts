import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { type OutputOptions, show } from "../../framework/output.ts";
import { type Search, warnOfAdjusted, warnOfNothing } from "./pages.ts";

const counted = { adjusted_query: z.string(), count: z.int() };
const countSchema = z.looseObject(counted);
const list = z.array(z.looseObject({ count: z.int() }));

/** The lists of the answer that a store of ours fills, each with its member that has the value; in their order here. */
const LISTS = [
  ["classifications", "classification"],
  ["tags", "tag"],
  ["asns", "asn"],
  ["organizations", "organization"],
  ["countries", "country"],
  ["actors", "actor"],
] as const;

const statsSchema = z.looseObject({
  ...counted,
  stats: z.looseObject({
    classifications: list,
    tags: list,
    asns: list,
    organizations: list,
    countries: list,
    actors: list,
  }),
});

const DEFAULT_ENTRIES = 10;

/** How many match. */
export async function showCount(search: Search, { json }: OutputOptions, context: CommandContext): Promise<void> {
  const { client, query, days } = search;
  const parameters = { query, days };
  const found = await client.ask({ path: "/v3/gnql/count", parameters, query }, countSchema);
  warnOfAdjusted(found.adjusted_query, context);
  context.print(json ? JSON.stringify(found) : String(found.count));
  if (found.count === 0) await warnOfNothing(search, context);
}

/** What they have in common, a table a list. */
export async function showStats(search: Search, { json }: OutputOptions, context: CommandContext): Promise<void> {
  const { client, query, days, limit = DEFAULT_ENTRIES } = search;
  const parameters = { query, days, count: limit };
  const found = await client.ask({ path: "/v3/gnql/stats", parameters, query }, statsSchema);
  warnOfAdjusted(found.adjusted_query, context);
  const { print } = context;
  if (json) {
    print(JSON.stringify(found));
    return;
  }
  print(`${found.count} ${found.count === 1 ? "address matches" : "addresses match"}.`);
  for (const [name, member] of LISTS) {
    const entries = found.stats[name];
    if (entries.length === 0) continue;
    print();
    show(
      entries.map((entry) => ({ [member]: entry[member], addresses: entry.count })),
      { json: false },
      context,
    );
  }
  if (found.count === 0) await warnOfNothing(search, context);
}
