import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber, isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { type FindKnownHost, isKnownName } from "@noisefloor/domain/callbacks/known-hosts.ts";
import { isListedHost } from "@noisefloor/domain/callbacks/listed-host.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import type { AuthorizedCaller } from "../../auth.ts";
import { and } from "../../conditions/address-set.ts";
import type { CompiledSearch } from "../../conditions/compile-bitmaps.ts";
import { SPOOFABLE } from "../../conditions/names.ts";
import { unadmitted } from "../../search/admit-query.ts";
import { compile, prepareSearch, type SearchDeps } from "../../search/search.ts";
import { readAttackers } from "../guard/attackers.ts";
import type { FindGuard, GuardReason } from "../guard/guard.ts";
import { newestCallbacks } from "./callback-queries.ts";
import { feedAddresses, newestAddresses } from "./queries.ts";

export type GuardedAddress = {
  readonly address: number;
  readonly reason: GuardReason;
  readonly hasAttacked: boolean;
};

export type FoundHosts = {
  /** In ascending order, as names. */
  readonly addresses: Uint32Array;
  readonly names: readonly string[];
  /** How many callbacks were left out because they are known hosts; of a truncated list, as below. */
  readonly heldBack: number;
  /** Left out because they are guarded; of a truncated list, of those seen as recently as the listed. */
  readonly guarded: readonly GuardedAddress[];
  /** How many a ready-made feed leaves out because they could be forged. */
  readonly leftOutSpoofable: number;
  readonly isTruncated: boolean;
};

/** How many more than the limit are read, so that guarded ones can be left out without asking again. */
const SPARE = 10_000;

export type FeedOwner = {
  /** The workspace that owns the feed. */
  readonly caller: AuthorizedCaller;
  /** Of its guarded addresses; undefined for a feed that has none. */
  readonly guard: FindGuard | undefined;
  /** Of its known hosts, which no feed lists as callbacks, and of its guarded addresses. */
  readonly findKnownHost: FindKnownHost<GuardReason>;
};

/** Runs the search of a feed with what its workspace may see, in the global dataset. */
export async function searchFeed(
  feed: Feed,
  owner: FeedOwner,
  deps: SearchDeps,
  signal: AbortSignal,
): Promise<FoundHosts> {
  const { query } = feed;
  const days = feed.days === 0 ? undefined : feed.days;
  const prepare = (text: string) =>
    prepareSearch({ caller: owner.caller, query: text, days, scopes: [GLOBAL_SCOPE] }, deps, unadmitted(signal));
  const search = await prepare(query);
  const wider = feed.queryWithSpoofable === undefined ? undefined : await prepare(feed.queryWithSpoofable);
  const compiled = compile(search, [], wider && and([wider.resolved, SPOOFABLE]));
  if (feed.of === "callbacks") return findCallbacks(compiled, feed, owner, deps, signal);
  return { ...(await findVisitors(compiled, feed, owner, deps, signal)), names: [], heldBack: 0 };
}

async function findVisitors(
  compiled: CompiledSearch,
  { limit }: Feed,
  { guard }: FeedOwner,
  deps: SearchDeps,
  signal: AbortSignal,
) {
  const { params } = compiled;
  const rows = await deps.read(feedAddresses(compiled), { ...params, limit: limit + SPARE }, signal);
  const leaveOut = (found: Uint32Array, most?: number) => leaveOutGuarded(found, { guard, limit: most }, deps, signal);
  const sumOf = (column: "count" | "beside") =>
    rows.reduce((sum, row) => sum + row[column].reduce((all, one) => all + one, 0), 0);
  const [count, leftOutSpoofable] = [sumOf("count"), sumOf("beside")];
  if (count <= limit + SPARE) {
    const found = await leaveOut(joined(rows.map((row) => row.addresses)));
    if (found.addresses.length <= limit) {
      return { ...found, leftOutSpoofable, addresses: found.addresses.sort(), isTruncated: false };
    }
  }
  for (let more = SPARE; ; more *= 2) {
    const blocks = await deps.read(newestAddresses(compiled), { ...params, limit: limit + more }, signal);
    const newest = joined(blocks.map(({ ip }) => ip));
    const found = await leaveOut(newest, limit);
    const isWhole = newest.length < limit + more;
    if (isWhole || found.addresses.length === limit) {
      const isTruncated = !isWhole || newest.length > found.addresses.length + found.guarded.length;
      return { ...found, leftOutSpoofable, addresses: found.addresses.sort(), isTruncated };
    }
  }
}

/** The hosts that the found visitors named, those named last if they are more than the limit. */
async function findCallbacks(
  compiled: CompiledSearch,
  { limit, isGuarded }: Feed,
  { findKnownHost }: FeedOwner,
  deps: SearchDeps,
  signal: AbortSignal,
): Promise<FoundHosts> {
  for (let more = SPARE; ; more *= 2) {
    const max = limit + more;
    const hosts = (await deps.read(newestCallbacks(compiled), { ...compiled.params, limit: max }, signal)).map(
      ({ host }) => host,
    );
    const listed: string[] = [];
    const guarded: GuardedAddress[] = [];
    let heldBack = 0;
    for (const host of hosts) {
      const reason = findKnownHost(host);
      if (!isListedHost(host) || listed.length > limit) continue;
      if (reason === undefined || !(isKnownName(reason) || isGuarded)) listed.push(host);
      else if (isKnownName(reason)) heldBack++;
      else guarded.push({ address: ipv4ToNumber(host), reason, hasAttacked: false });
    }
    if (listed.length < limit && hosts.length === max) continue;
    const kept = listed.slice(0, limit);
    return {
      addresses: Uint32Array.from(kept.filter(isIpv4), ipv4ToNumber).sort(),
      names: kept.filter((host) => !isIpv4(host)).sort(),
      guarded,
      heldBack,
      leftOutSpoofable: 0,
      isTruncated: kept.length < listed.length || hosts.length === max,
    };
  }
}

function joined(arrays: readonly Uint32Array[]): Uint32Array {
  const [only, second] = arrays;
  if (only !== undefined && second === undefined) return only;
  const all = new Uint32Array(arrays.reduce((length, array) => length + array.length, 0));
  let length = 0;
  for (const array of arrays) {
    all.set(array, length);
    length += array.length;
  }
  return all;
}

/** The addresses that are not guarded, of which the first `limit` are kept. */
export async function leaveOutGuarded(
  addresses: Uint32Array,
  { guard, limit = addresses.length }: { readonly guard: FindGuard | undefined; readonly limit?: number | undefined },
  deps: LookupDeps,
  signal: AbortSignal,
) {
  const mayBeGuarded = Array.from(guard === undefined ? [] : addresses.filter((address) => guard(address, false)));
  const attackers = await readAttackers(mayBeGuarded, deps, signal);
  const kept = new Uint32Array(Math.min(addresses.length, limit));
  let length = 0;
  const guarded: GuardedAddress[] = [];
  for (const address of addresses) {
    if (length === limit) break;
    const hasAttacked = attackers.has(address);
    const reason = guard?.(address, hasAttacked);
    if (reason === undefined) kept[length++] = address;
    else guarded.push({ address, reason, hasAttacked });
  }
  return { addresses: kept.slice(0, length), guarded };
}
