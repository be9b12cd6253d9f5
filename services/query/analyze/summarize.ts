import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { AddressContext } from "../address/read-contexts.ts";
import { countryName } from "../address/response.ts";
import type { TextAnalysis } from "./operations.ts";

/** Counts by name; a value without a name counts nowhere. */
function tally<Value>() {
  const entries = new Map<string, { readonly value: Value; count: number }>();
  return {
    add(name: string, value: Value) {
      if (name === "") return;
      const entry = entries.get(name) ?? { value, count: 0 };
      entry.count++;
      entries.set(name, entry);
    },
    mostFirst: () =>
      [...entries]
        .sort(([one, a], [other, b]) => b.count - a.count || (one < other ? -1 : 1))
        .map(([, { value, count }]) => ({ ...value, count })),
  };
}

/** Sums up what is known of the addresses of a text. */
export async function summarize(
  contexts: AsyncIterable<readonly [ip: string, context: AddressContext]>,
  catalogue: Pick<TagCatalogue, "byId">,
): Promise<Omit<TextAnalysis, "uuid" | "state">> {
  const [noise, riot, unknown]: [string[], string[], string[]] = [[], [], []];
  const actors = tally<{ actor: string }>();
  const classifications = tally<Pick<TextAnalysis["stats"]["classifications"][number], "classification">>();
  const countries = tally<{ country: string }>();
  const tags = tally<{ tag: string; id: string }>();
  let unique = 0;
  for await (const [ip, context] of contexts) {
    unique++;
    if (context.riot !== undefined) riot.push(ip);
    if (context.noise === undefined) {
      if (context.riot === undefined) unknown.push(ip);
      continue;
    }
    noise.push(ip);
    const { actor = "", classification, tagIds } = context.noise;
    const country = countryName(context.details?.country ?? "");
    actors.add(actor, { actor });
    classifications.add(classification, { classification });
    countries.add(country, { country });
    for (const id of tagIds) {
      const tag = catalogue.byId(id)?.name ?? "";
      tags.add(tag, { tag, id });
    }
  }
  const percentageOf = (some: readonly string[]) => (unique === 0 ? 0 : (100 * some.length) / unique);
  return {
    details: {
      unique_ips: unique,
      noise_ips: noise.length,
      non_noise_ips: unique - noise.length,
      riot_ips: riot.length,
      noise_ips_found: noise,
      riot_ips_found: riot,
      unknown_ips: unknown,
      percentage_of_noise_ips: percentageOf(noise),
      percentage_of_riot_ips: percentageOf(riot),
    },
    stats: {
      actors: actors.mostFirst(),
      classifications: classifications.mostFirst(),
      countries: countries.mostFirst(),
      operating_systems: [],
      tags: tags.mostFirst(),
    },
  };
}
