import { scramble } from "./scramble.ts";
import {
  bytesOf,
  entriesSince,
  entryOf,
  grown,
  lengthOf,
  NO_SEGMENT,
  put,
  SEGMENTS,
  type Segment,
  type Sighting,
  segmentNumber,
  sightingFrom,
  visitAddresses,
  worstSeverities,
} from "./segment.ts";

export type { Sighting } from "./segment.ts";

/**
 * When each address was last seen with each severity, in memory. Addresses are unsigned 32-bit integers, severities are
 * 0 to 7, times are milliseconds since 1970 UTC.
 */
export type Sightings = {
  /** Ignores times that are not later than the recorded one. Recording higher severities first takes less memory. */
  record(address: number, severity: number, lastSeen: number): void;
  /** The sighting of an address since a time; undefined when it was not seen since then. */
  find(address: number, since: number): Sighting | undefined;
  /** The severities of very many addresses: 0 also for one that was not seen since then. */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
  /**
   * Calls back with each address that was seen since `from`, and with its worst severity since `since`, which is not
   * later. A generator, as `evict` is.
   */
  visit(
    times: { readonly from: number; readonly since: number },
    visitor: (address: number, severity: number) => void,
  ): Generator<void, void, void>;
  /**
   * Removes entries last seen before a time. A generator, so that the caller can yield to the event loop between steps.
   */
  evict(before: number): Generator<void, void, void>;
  clear(): void;
  /** The number of pairs of address and severity. */
  size(): number;
  /** The memory that they occupy. */
  bytes(): number;
};

/**
 * A hash table, since a search in sorted addresses waits for memory several times and one here mostly once. It is one of
 * many small ones, each of which grows by itself, within milliseconds.
 */
export function createSightings(): Sightings {
  const segments: Segment[] = Array.from({ length: SEGMENTS }, () => NO_SEGMENT);
  let size = 0;

  const segmentOf = (hash: number) => segments[segmentNumber(hash)] ?? NO_SEGMENT;
  const record = (address: number, severity: number, lastSeen: number): void => {
    const hash = scramble(address);
    const isAdded = put(segmentOf(hash), hash, severity, lastSeen);
    if (isAdded === true) size++;
    if (isAdded !== undefined) return;
    segments[segmentNumber(hash)] = grown(segmentOf(hash));
    record(address, severity, lastSeen);
  };

  return {
    record,
    find(address, since) {
      const hash = scramble(address);
      const segment = segmentOf(hash);
      return sightingFrom(segment, hash, entryOf(segment, hash), since);
    },
    severitiesOf: (addresses, since) => worstSeverities(segments, addresses, since),
    *visit(times, visitor) {
      for (const [number, segment] of segments.entries()) {
        visitAddresses(segment, number, times, visitor);
        yield;
      }
    },
    *evict(before) {
      for (const [number, segment] of segments.entries()) {
        const kept = entriesSince(segment, before);
        size -= lengthOf(segment) - lengthOf(kept);
        segments[number] = kept;
        yield;
      }
    },
    clear() {
      segments.fill(NO_SEGMENT);
      size = 0;
    },
    size: () => size,
    bytes: () => segments.reduce((sum, segment) => sum + bytesOf(segment), 0),
  };
}
