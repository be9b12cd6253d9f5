import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";

/** What forms say of a feed, and of its list as a whole. */
export type FeedHead = {
  readonly id: string;
  readonly name: string;
  readonly of: FeedSubject;
  readonly description: string;
  /** Opaque, one for all forms: the same cursor, the same hosts. */
  readonly cursor: string;
  /** When the list became what it is: the same for all who answer it. */
  readonly listedAt: Date;
  readonly count: number;
  /** Whether there are more than the feed's limit: those seen, or named, last are listed. */
  readonly truncated: boolean;
  readonly ttlHours: number;
};

/** How a callback was named. */
export type Naming = {
  readonly kind: "address" | "name";
  /** How many addresses named it. */
  readonly visitors: number;
  readonly ports: readonly number[];
  readonly schemes: readonly string[];
};

/** What forms with more than hosts say of one. */
export type FeedItem = {
  /** Of a callback it may be a name. */
  readonly ip: string;
  /** Of callbacks alone. */
  readonly naming?: Naming;
  /** Set when none of its observations is stored any more: its times are then those of the list. */
  readonly isGone?: boolean;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
  readonly classification: "malicious" | "suspicious" | "benign" | "unknown";
  /** Slugs, in order of the text. */
  readonly tags: readonly string[];
  /** 0 where unknown. */
  readonly asn: number;
  /** Empty where unknown, as the country's code is. */
  readonly organization: string;
  readonly country: string;
  /** Whether it could be forged. */
  readonly spoofable: boolean;
};

/** Items in numeric order of their addresses, then of their names, in blocks, read from the store while a form is written. */
export type FeedItems = AsyncIterable<readonly FeedItem[]>;

/** The items of addresses, for forms that have no names. */
export async function* addressesOnly(items: FeedItems): FeedItems {
  for await (const block of items) yield block.filter(({ naming }) => naming?.kind !== "name");
}

/** An address as an object of STIX: one version of it. */
export type FeedObject = {
  /** The UUID of its indicator. */
  readonly id: string;
  readonly ip: string;
  /** A page about the address. */
  readonly link: string;
  /** When the address first entered any feed. */
  readonly createdAt: Date;
  /** When its version was made, a whole second. */
  readonly modifiedAt: Date;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
  readonly validUntil: Date;
  readonly classification: FeedItem["classification"];
  readonly tags: readonly string[];
  readonly spoofable: boolean;
  /** Set when none of its observations is stored any more: it says nothing but its address. */
  readonly isErased?: boolean;
  /** Whether it has left the feed. */
  readonly isRevoked: boolean;
};

/** In numeric order of their addresses. */
export type FeedObjects = AsyncIterable<readonly FeedObject[]>;

/**
 * The whole list. Addresses are IPv4 as numbers, in numeric order; a feed of callbacks has names besides, in the order of
 * their bytes. {@link items} has both, {@link objects} the addresses.
 */
export type FeedList = {
  readonly feed: FeedHead;
  readonly addresses: Uint32Array;
  readonly names: readonly string[];
  readonly items: () => FeedItems;
  readonly objects: () => FeedObjects;
};

/** The difference between the list at a cursor and the list now. */
export type FeedChanges = {
  readonly feed: FeedHead;
  readonly since: string;
  readonly added: Uint32Array;
  readonly removed: Uint32Array;
  readonly addedNames: readonly string[];
  readonly removedNames: readonly string[];
  /** The added ones. */
  readonly items: () => FeedItems;
  /** The added ones, those that have a new version, and the removed ones as revoked. */
  readonly objects: () => FeedObjects;
};
