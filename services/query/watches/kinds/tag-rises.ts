import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { formatTimestamp, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { SearchDeps } from "../../search/search.ts";
import type { FindRises, Rise } from "../tag-rises/rises.ts";
import type { Finding, IsTold, Watching } from "./kind.ts";
import { hashOf } from "./sensor-silent.ts";

/** The watched tags of which an hour has more addresses than is usual. Hours before a watch was made say nothing. */
export async function findRisingTags(
  watching: readonly Watching<"tag_rises">[],
  findRises: FindRises,
  isTold: IsTold,
  { catalogue }: Pick<SearchDeps, "catalogue">,
  signal: AbortSignal,
): Promise<Finding[]> {
  const bySlug = new Map(catalogue.all().map((tag) => [tag.slug, tag]));
  const tagged = watching.flatMap((each) => {
    const tag = bySlug.get(each.watch.on.tag);
    return tag === undefined ? [] : [{ ...each, tag }];
  });
  if (tagged.length === 0) return [];
  const rises = await findRises(
    tagged.map(({ tag }) => ({ tagId: tag.id, scopes: [GLOBAL_SCOPE] })),
    signal,
  );
  return tagged.flatMap(({ watch, tag }) => {
    const subject = hashOf(tag.slug);
    const [rise] = rises
      .filter(({ tagId, hour }) => tagId === tag.id && hour + HOUR_MS > watch.sinceAt)
      .filter(({ hour }) => !isTold(watch, subject, hour / 1_000));
    return rise === undefined ? [] : [toFinding(watch, tag, subject, rise)];
  });
}

function toFinding(
  watch: Finding["watch"],
  { slug, name }: { readonly slug: string; readonly name: string },
  subject: number,
  { hour, count, expected: { median, low, high, madeFrom } }: Rise,
): Finding {
  const usual = `${Math.floor(low)} to ${Math.ceil(high)}`;
  return {
    watch,
    subjects: new Map([[subject, hour / 1_000]]),
    describe: async () => ({
      type: "tag_rises",
      summary: `${name} rises: ${count} addresses in the hour from ${formatTimestamp(hour)}, usual are ${usual}`,
      data: {
        tag: { slug, name },
        hour: formatTimestamp(hour),
        count,
        expected: { median: tenths(median), low: tenths(low), high: tenths(high) },
        made_from: madeFrom.map((each) => ({ hour: formatTimestamp(each.hour), count: each.count })),
      },
    }),
  };
}

const tenths = (value: number) => Math.round(10 * value) / 10;
