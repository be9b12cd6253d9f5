import { openInternet } from "@noisefloor/cli/simulation/open.ts";
import { type SimulatedInternet, simulate } from "@noisefloor/cli/simulation/simulate.ts";
import { readExamples } from "@noisefloor/cli/simulation/sources/examples.ts";
import { STARTER_FOLDER } from "@noisefloor/cli/tags/starter-tags.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import { readFolder } from "@noisefloor/ingest/tagging/rule-files/lint.ts";

/** What the simulated fleet sees, hour by hour. */
export type SimulatedHours = {
  /** All distinct addresses. */
  readonly all: Float64Array;
  /** Those of each tag, by its slug. */
  readonly byTag: ReadonlyMap<string, Float64Array>;
  /** The machines of each campaign that scanned. */
  readonly campaigns: readonly { readonly slug: string; readonly start: number; readonly machines: Float64Array }[];
};

export type SimulatedSpan = {
  readonly from: number;
  readonly hours: number;
  readonly perDay: number;
  readonly seed: number;
  /** Without campaigns. */
  readonly isQuiet: boolean;
};

/** Distinct addresses by hour and name. */
function hourlySets(hours: number) {
  const counts = new Map<string, Float64Array>();
  let current = new Map<string, Set<string>>();
  return {
    counts,
    add(name: string, ip: string) {
      const addresses = current.get(name) ?? new Set();
      current.set(name, addresses.add(ip));
    },
    endHour(hour: number) {
      for (const [name, { size }] of current) {
        const ofName = counts.get(name) ?? new Float64Array(hours);
        ofName[hour] = size;
        counts.set(name, ofName);
      }
      current = new Map();
    },
  };
}

/** Counts what a span of the simulation has, with the tags of all rules, without a store. */
export async function simulateHours({ from, hours, perDay, seed, isQuiet }: SimulatedSpan): Promise<SimulatedHours> {
  const databases = await openEnricher({ mmdbPaths: [], log: { warn: () => {} } });
  const made = await openInternet({ seed, sources: 8_000, databases });
  const rules = (await readFolder(STARTER_FOLDER)).flatMap((file) => file.tags.flatMap(({ rule }) => rule ?? []));
  const { tagsFor } = createTagger(rules);
  const slugOf = new Map((await readExamples()).map(({ slug, content }) => [content, slug]));
  const [tags, machines] = [hourlySets(hours), hourlySets(hours)];
  const campaigns = new Map<string, { readonly slug: string; readonly start: number }>();
  const internet: SimulatedInternet = {
    ...made,
    campaigns: {
      sharesAt: (time) => (isQuiet ? [] : made.campaigns.sharesAt(time)),
      source(campaign, time, random) {
        const source = made.campaigns.source(campaign, time, random);
        const [content] = campaign.contents;
        const slug = (content && slugOf.get(content)) ?? "";
        campaigns.set(String(campaign.number), { slug, start: (campaign.start - from) / HOUR_MS });
        machines.add(String(campaign.number), source.ip);
        return source;
      },
    },
  };
  let hour = 0;
  const end = () => {
    for (const sets of [tags, machines]) sets.endHour(hour);
  };
  for (const { observation, observedAt } of simulate(internet, { from, to: from + hours * HOUR_MS - 1, perDay })) {
    if (Math.floor((observedAt - from) / HOUR_MS) > hour) {
      end();
      hour = Math.floor((observedAt - from) / HOUR_MS);
    }
    const { source_ip } = observation;
    const slugs = new Set([...observation.tags, ...tagsFor(databases.enrich({ ...observation }))]);
    tags.add("", source_ip);
    for (const slug of slugs) tags.add(slug, source_ip);
  }
  end();
  const all = tags.counts.get("") ?? new Float64Array(hours);
  tags.counts.delete("");
  return {
    all,
    byTag: tags.counts,
    campaigns: [...campaigns].map(([number, campaign]) => ({
      ...campaign,
      machines: machines.counts.get(number) ?? new Float64Array(hours),
    })),
  };
}
