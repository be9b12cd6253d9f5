import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { formatAge } from "./measures.ts";
import { type Facts, samplesOf } from "./probes/gather.ts";

/** A feed that users made, as the service that refreshed it last says it is. */
export type FeedStatus = {
  readonly workspace: string;
  readonly feed: string;
  readonly ageSeconds: number;
  readonly addresses: number;
  readonly failures: number;
  /** How many addresses it had before it fell; 0 when it did not. */
  readonly fellFrom: number;
  /** Milliseconds since 1970 UTC; 0 for never. */
  readonly lastUsedAt: number;
  readonly silentTokens: number;
};

/** In order of workspaces and names. */
export function feedsOf(facts: Facts): readonly FeedStatus[] {
  const keyOf = (url: string, { workspace, feed }: Readonly<Record<string, string>>) =>
    [workspace, feed, url].join(" ");
  const valuesOf = (name: string) => {
    const samples = samplesOf(facts, name);
    const values = new Map(samples.map(({ labels, url, value }) => [keyOf(url, labels), value]));
    return (key: string) => values.get(key) ?? 0;
  };
  const addresses = valuesOf("noisefloor_feed_addresses");
  const failures = valuesOf("noisefloor_feed_refresh_failures");
  const fellFrom = valuesOf("noisefloor_feed_fell_from");
  const lastUse = valuesOf("noisefloor_feed_last_use_timestamp_seconds");
  const silentTokens = valuesOf("noisefloor_feed_silent_tokens");
  const newest = new Map<string, FeedStatus>();
  for (const { labels, url, value: ageSeconds } of samplesOf(facts, "noisefloor_feed_age_seconds")) {
    const { workspace = "", feed = "" } = labels;
    const name = `${workspace} ${feed}`;
    const key = keyOf(url, labels);
    if ((newest.get(name)?.ageSeconds ?? Number.POSITIVE_INFINITY) <= ageSeconds) continue;
    newest.set(name, {
      ...{ workspace, feed, ageSeconds, addresses: addresses(key), failures: failures(key) },
      ...{ fellFrom: fellFrom(key), lastUsedAt: lastUse(key) * 1_000, silentTokens: silentTokens(key) },
    });
  }
  return [...newest].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, status]) => status);
}

export const feedToJson = ({ ageSeconds, fellFrom, lastUsedAt, silentTokens, ...feed }: FeedStatus) => ({
  ...feed,
  age_seconds: ageSeconds,
  fell_from: fellFrom,
  last_used: lastUsedAt === 0 ? null : formatTimestamp(lastUsedAt),
  silent_tokens: silentTokens,
});

const SHOWN_FEEDS = 20;

/** A line for each feed, those with a fault first. */
export function feedLines(facts: Facts): (readonly [string, string])[] {
  const feeds = feedsOf(facts);
  if (feeds.length === 0) return [];
  const hasFault = ({ failures, fellFrom, silentTokens }: FeedStatus) => failures + fellFrom + silentTokens > 0;
  const shown = feeds.toSorted((one, other) => Number(hasFault(other)) - Number(hasFault(one))).slice(0, SHOWN_FEEDS);
  return [
    ["feeds", `${feeds.length}`],
    ...shown.map((feed) => [`  ${feed.feed}`, describeFeed(feed, facts.now)] as const),
    ...(feeds.length > shown.length ? [["", `and ${feeds.length - shown.length} more`] as const] : []),
  ];
}

function describeFeed(feed: FeedStatus, now: number): string {
  const { workspace, addresses, ageSeconds, failures, fellFrom, lastUsedAt, silentTokens } = feed;
  return [
    `of ${workspace}`,
    `${addresses} addresses`,
    ...(fellFrom > 0 ? [`FELL from ${fellFrom}`] : []),
    `refreshed ${formatAge(ageSeconds * 1_000)} ago`,
    ...(failures > 0 ? [`${failures} FAILURES since`] : []),
    lastUsedAt === 0 ? "no token used" : `a token used ${formatAge(now - lastUsedAt)} ago`,
    ...(silentTokens > 0 ? [`${silentTokens} no longer used`] : []),
  ].join(", ");
}
