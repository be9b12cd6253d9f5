import { FEED_SUBJECTS, type FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { type QueryClientOptions, queryClient } from "../../query-client/client.ts";

export type FeedsOptions = QueryClientOptions & OutputOptions;
export type DeleteOptions = FeedsOptions & { readonly yes: boolean };
export type PutOptions = FeedsOptions & {
  readonly of?: FeedSubject | undefined;
  readonly days?: number | undefined;
  readonly description: string;
  readonly limit?: number | undefined;
  readonly ttlHours?: number | undefined;
  readonly guard: boolean;
  readonly keepFallen: boolean;
  readonly disabled: boolean;
};

const feedSchema = z.looseObject({
  name: z.string(),
  of: z.enum(FEED_SUBJECTS).default("visitors"),
  query: z.string(),
  days: z.int(),
  description: z.string(),
  limit: z.int(),
  ttl_hours: z.int(),
  guard: z.boolean(),
  keep_fallen: z.boolean().default(false),
  enabled: z.boolean(),
  count: z.int(),
  guarded: z.int(),
  held_back: z.int().default(0),
  kept: z.int().default(0),
  fell_from: z.int().default(0),
  truncated: z.boolean(),
  refreshed_at: z.string(),
});
type Feed = z.output<typeof feedSchema>;
const savedSchema = feedSchema.extend({ warnings: z.array(z.string()).default([]) });

const FEEDS_PATH = "/v3/feeds";
/** From the root on. @param name of a feed. */
export const feedPath = (name: string) => `${FEEDS_PATH}/${encodeURIComponent(name)}`;

/** `noisefloor feeds list`. */
export async function runFeedsList(options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const { feeds } = await client.ask({ path: FEEDS_PATH }, z.object({ feeds: z.array(feedSchema) }));
  const toRow = ({ name, of, query, days, enabled, count, guarded, refreshed_at: refreshed }: Feed) => ({
    name,
    of,
    state: enabled ? "enabled" : "disabled",
    // A ready-made feed that nobody reads is not refreshed, so its size is not known.
    ...(refreshed === "" ? { hosts: "-", guarded: "-" } : { hosts: count, guarded }),
    refreshed_at: refreshed || "never",
    days: days === 0 ? "all" : days,
    query,
  });
  show(options.json ? feeds : feeds.map(toRow), options, context);
}

/** `noisefloor feeds show`. */
export async function runFeedsShow(name: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  printFeed(await client.ask({ path: feedPath(name) }, feedSchema), client.url, options, context);
}

const revisionSchema = z.object({
  refreshed_at: z.string(),
  count: z.int(),
  added: z.int(),
  removed: z.int(),
  cursor: z.string(),
});

/** `noisefloor feeds history`. */
export async function runFeedsHistory(name: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const path = `${feedPath(name)}/history`;
  const { revisions } = await client.ask({ path }, z.object({ revisions: z.array(revisionSchema) }));
  show(revisions, options, context);
}

/** `noisefloor feeds put`. */
export async function runFeedsPut(
  name: string,
  query: string,
  options: PutOptions,
  context: CommandContext,
): Promise<void> {
  const { of, days, description, limit, ttlHours, guard, keepFallen, disabled } = options;
  const client = await queryClient(options, context);
  // Undefined members are left out: the service has defaults for them.
  const settings = { of, days, limit, ttl_hours: ttlHours, guard, keep_fallen: keepFallen, enabled: !disabled };
  const body = { query, description, ...settings };
  const feed = await client.ask({ method: "PUT", path: feedPath(name), body, query }, savedSchema);
  for (const warning of feed.warnings) context.log.warn(printable(warning));
  printFeed(feed, client.url, options, context);
}

/** `noisefloor feeds delete`. */
export async function runFeedsDelete(name: string, options: DeleteOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  await confirm(`this deletes the feed ${printable(name)}, and its readers get a 410`, options, context);
  await client.ask({ method: "DELETE", path: feedPath(name) }, z.unknown());
  context.print(options.json ? JSON.stringify({ deleted: name }) : `deleted the feed ${printable(name)}`);
}

function printFeed(feed: Feed, url: string, { json }: OutputOptions, { print }: CommandContext): void {
  if (json) {
    print(JSON.stringify(feed));
    return;
  }
  const { name, of, query, days, description, limit, ttl_hours: ttl, guard, enabled, count, guarded, truncated } = feed;
  const left = truncated ? `, the last seen of more (limit ${limit})` : "";
  const lines = [
    ["name", name],
    ["query", query],
    ["observations", days === 0 ? "all that are stored" : `of the last ${days} days`],
    ...(description === "" ? [] : [["description", description]]),
    ["lists", of === "callbacks" ? "hosts that they named" : "their addresses"],
    ["hosts", `${count}${left}`],
    ["guarded", guard ? `${guarded} left out` : "nothing is left out"],
    ...(of === "callbacks" ? [["known hosts", `${feed.held_back} left out`]] : []),
    ...(feed.fell_from > 0 ? [["fell from", `${feed.fell_from} at one refresh`]] : []),
    ...(feed.keep_fallen ? [["if it falls", `its addresses are kept for an hour: ${feed.kept} now`]] : []),
    ["kept for", `${ttl} hours by consumers that expire entries`],
    ["refreshed", feed.refreshed_at || "never"],
    ["read at", enabled ? `${url}${feedPath(name)}.txt, and other forms` : "none: the feed is disabled"],
  ];
  for (const [label = "", text = ""] of lines) print(`${label.padEnd(12)}  ${printable(text)}`);
}
