import { scramble } from "./scramble.ts";
import {
  bytesOf,
  entriesSince,
  entryOf,
  grown,
  lengthOf,
  NO_TABLE,
  put,
  type Sighting,
  type SightingTable,
  sightingFrom,
  TABLES,
  tableNumber,
  visitAddresses,
  worstSeverities,
} from "./sighting-table.ts";

/**
 * When each address was last seen with each severity, in memory. Addresses are unsigned 32-bit integers, severities are
 * 0 to 5, `CONTACT` or `ATTACK`, times are milliseconds since 1970 UTC.
 */
export type Sightings = {
  /** Ignores times that are not later than the recorded one. Recording higher severities first takes less memory. */
  record(address: number, severity: number, lastSeen: number): void;
  /** The sighting of an address since a time; undefined when it was not seen since then. */
  find(address: number, since: number): Sighting | undefined;
  /** The severities of very many addresses, with `ATTACKED`: 0 also for one that was not seen since then. */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
  /**
   * Calls back with each address that was seen since `from`, and with its worst severity since `since`, which is not
   * later, with `ATTACKED`. A generator, as `evict` is.
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
 * Hash tables, since a search in sorted addresses waits for memory several times and one here mostly once. There are
 * many of them, each of which grows by itself: that blocks the event loop for milliseconds and not for a second.
 */
export function createSightings(): Sightings {
  const tables: SightingTable[] = Array.from({ length: TABLES }, () => NO_TABLE);
  let size = 0;

  const tableOf = (hash: number) => tables[tableNumber(hash)] ?? NO_TABLE;
  const record = (address: number, severity: number, lastSeen: number): void => {
    const hash = scramble(address);
    const outcome = put(tableOf(hash), hash, severity, lastSeen);
    if (outcome === "added") size++;
    if (outcome !== "full") return;
    tables[tableNumber(hash)] = grown(tableOf(hash));
    record(address, severity, lastSeen);
  };

  return {
    record,
    find(address, since) {
      const hash = scramble(address);
      const table = tableOf(hash);
      return sightingFrom(table, hash, entryOf(table, hash), since);
    },
    severitiesOf: (addresses, since) => worstSeverities(tables, addresses, since),
    *visit(times, visitor) {
      for (const [number, table] of tables.entries()) {
        visitAddresses(table, number, times, visitor);
        yield;
      }
    },
    *evict(before) {
      for (const [number, table] of tables.entries()) {
        const kept = entriesSince(table, before);
        size -= lengthOf(table) - lengthOf(kept);
        tables[number] = kept;
        yield;
      }
    },
    clear() {
      tables.fill(NO_TABLE);
      size = 0;
    },
    size: () => size,
    bytes: () => tables.reduce((sum, table) => sum + bytesOf(table), 0),
  };
}
