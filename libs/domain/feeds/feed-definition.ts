import { v5 as uuidV5 } from "uuid";
import { UUID_PATTERN } from "../tags/tag.ts";

/** Whom a feed lists: those whom its search finds, or the hosts that these told a sensor to call. */
export const FEED_SUBJECTS = ["visitors", "callbacks"] as const;
export type FeedSubject = (typeof FEED_SUBJECTS)[number];

/** A saved search whose addresses others fetch. Times in milliseconds since 1970 UTC. */
export type FeedDefinition = {
  readonly id: string;
  /** Whose it is: it finds what this workspace may find, and its keys alone read and change it. */
  readonly workspaceId: string;
  readonly name: string;
  readonly of: FeedSubject;
  /** It selects visitors, also where their callbacks are listed. */
  readonly query: string;
  /** As of a search; 0 stands for everything that is stored. */
  readonly days: number;
  readonly description: string;
  /** How many addresses it lists at most, those seen last. */
  readonly limit: number;
  /** For how long consumers that let entries expire should keep one. */
  readonly ttlHours: number;
  /** Whether guarded addresses are left out. */
  readonly isGuarded: boolean;
  /** Whether it keeps its addresses for an hour when its list loses half of them, or all, at one refresh. */
  readonly keepsFallen: boolean;
  readonly isEnabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** A feed as it is refreshed and read: a definition, or a ready-made one. */
export type Feed = FeedDefinition & {
  readonly isReadyMade: boolean;
  /** Its query without the condition that leaves out what could be forged; undefined where the query has none. */
  readonly queryWithSpoofable?: string | undefined;
};

export const MAX_FEED_ADDRESSES = 1_000_000;
export const DEFAULT_FEED_ADDRESSES = 100_000;
/** Hosts that are called are given up after a few days; an address scans again after a day. */
export const DEFAULT_TTL_HOURS: Readonly<Record<FeedSubject, number>> = { visitors: 24, callbacks: 72 };
/** A consumer's timer of seconds in 32 bits, as ipset's, ends before 25 days. */
export const MAX_TTL_HOURS = 24 * 24;

const FEED_NAMESPACE = "6b0f2a3e-6a53-4b44-9f6f-0c2c0a2f7d11";

/** The same for the same name in every process, so that two of them that create a feed at the same time create one. */
export function feedIdOf(workspaceId: string, name: string): string {
  return uuidV5(JSON.stringify([workspaceId, name]), FEED_NAMESPACE);
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Paths that are something else: of the hosted service, of Suricata's categories. */
const RESERVED: readonly string[] = ["events", "iprep-categories"];

/** Names of other paths, and those of the hosted service's event feeds by UUID, stay free. */
export function isFeedName(name: string): boolean {
  return NAME.test(name) && !RESERVED.includes(name) && !UUID_PATTERN.test(name);
}
