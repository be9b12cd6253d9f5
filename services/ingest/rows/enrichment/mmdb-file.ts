import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { LRUCache } from "lru-cache";
import { type CityResponse, Reader } from "maxmind";
import type { AddressFacts, FactsSource } from "./facts.ts";
import { readRecord } from "./read-record.ts";

/** Looked up in a file before it is used: one with a hole in its middle fails here. */
const PROBES = Array.from({ length: 223 }, (_, index) => numberToIpv4((index + 1) * 2 ** 24 + 0x010101));

/** Addresses share records: those of countries are a few hundred for the whole Internet. */
const CACHED_RECORDS = 16_384;

/**
 * Opens an mmdb file of MaxMind, DB-IP, IPinfo or ip-location-db, all of it in memory.
 * @throws Error when it cannot be read or is no such file.
 */
export async function openMmdb(path: string): Promise<FactsSource> {
  const bytes = await readFile(path);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw new Error("it is packed with gzip: unpack it");
  const reader = new Reader<CityResponse>(bytes, { cache: new LRUCache({ max: CACHED_RECORDS }) });
  const read = new WeakMap<object, AddressFacts>();
  const lookUp = (ip: string) => {
    const record: object | null = reader.get(ip);
    if (record === null) return undefined;
    let facts = read.get(record);
    if (facts === undefined) {
      facts = readRecord(record);
      read.set(record, facts);
    }
    return facts;
  };
  PROBES.forEach(lookUp);
  return { name: basename(path), builtAt: reader.metadata.buildEpoch.getTime(), lookUp };
}

export type MmdbFile = {
  /** As the file last was when it could be read; undefined if it never could. */
  current(): FactsSource | undefined;
  /** Reads the file again if it has changed. @returns whether another content counts now. */
  refresh(): Promise<boolean>;
};

/**
 * An mmdb file that may be replaced while it is in use. One that cannot be read leaves the earlier content in use.
 * @param onError called once for each state of the file that cannot be read.
 */
export function watchedMmdb(path: string, onError: (error: unknown, isInUse: boolean) => void): MmdbFile {
  let current: FactsSource | undefined;
  let tried: string | undefined;
  return {
    current: () => current,
    async refresh() {
      const state = await readState(path);
      if (state === tried) return false;
      tried = state;
      try {
        current = await openMmdb(path);
        return true;
      } catch (error) {
        onError(error, current !== undefined);
        return false;
      }
    },
  };
}

/** Changes when the file does; a missing file has a state as well. */
async function readState(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    return String(error);
  }
}
