import type { AddressChanges } from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { dueAddresses, turnAt } from "./decisions.ts";
import type { Told } from "./positions.ts";

type ChangesOptions = {
  readonly feed: Pick<Feed, "ttlHours">;
  /** The list now, and its name. */
  readonly addresses: Uint32Array;
  readonly revision: string;
  /** Milliseconds since 1970 UTC, later than the last answer. */
  readonly answeredAt: number;
  /** How the list differs from an earlier one; undefined when that is no longer known. */
  readonly changesSince: (revision: string) => Promise<AddressChanges | undefined>;
};

/** Addresses in ascending order, none of which is in two of the lists. */
export type DecisionChanges = {
  readonly started: Uint32Array;
  readonly ended: Uint32Array;
  /** Decisions that go on, and have to be prolonged now. */
  readonly prolonged: Uint32Array;
  readonly hasChanged: boolean;
};

/** What a bouncer is told that has nothing yet. */
export const startedAll = (addresses: Uint32Array, ended: Uint32Array = new Uint32Array()): DecisionChanges => ({
  started: addresses,
  ended,
  prolonged: new Uint32Array(),
  hasChanged: true,
});

/**
 * What changed for a bouncer since its last answer: all of the list, when it had none or too long ago. After answers
 * that were cut off also what changed since each of these, which the bouncer may have obeyed.
 */
export async function changesFor(
  { last, unsure }: Told,
  { feed, addresses, revision, answeredAt, changesSince }: ChangesOptions,
): Promise<DecisionChanges> {
  const sinceLast = last && (await changesSince(last.revision));
  const sinceUnsure = await Promise.all(unsure.map(changesSince));
  const all = [sinceLast, ...sinceUnsure].filter((changes) => changes !== undefined);
  const removed = unite(all.map((changes) => changes.removed));
  if (last === undefined || sinceLast === undefined) {
    return startedAll(addresses, removed);
  }
  const to = turnAt(answeredAt, feed.ttlHours);
  const after = turnAt(last.answeredAt, feed.ttlHours);
  const added = unite(all.map((changes) => changes.added));
  const isAdded = new Set(added);
  const prolonged = dueAddresses(addresses, { after, to }).filter((address) => !isAdded.has(address));
  return {
    started: added,
    ended: removed,
    prolonged,
    hasChanged: last.revision !== revision || after !== to || unsure.length > 0,
  };
}

/** Each address once, in ascending order. */
function unite([first = new Uint32Array(), ...others]: readonly Uint32Array[]): Uint32Array {
  return others.length === 0
    ? first
    : Uint32Array.from(new Set([first, ...others].flatMap((each) => [...each]))).sort();
}
