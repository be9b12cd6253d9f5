import type { ClickHouseClient } from "../client/client.ts";
import { StoreError } from "../client/errors.ts";
import { readStoreIdentity } from "../client/store-identity.ts";
import { defineVersion } from "../records/define-records.ts";
import { openPollingCache, type PollingCache, type PollingOptions } from "./polling-cache.ts";

/** What is made of records. `kinds` names each kind of which there is a record: in a lost store, some are missing. */
type OfRecords = { readonly kinds: ReadonlySet<string> };

/**
 * Keeps what is made of tables of records in memory, and up to date.
 * @param tables all that it comes from.
 */
export async function openRecordsCache<T extends OfRecords>(
  client: ClickHouseClient,
  tables: readonly string[],
  read: () => Promise<T>,
  options: PollingOptions,
): Promise<PollingCache<T>> {
  const readVersion = defineVersion(tables);
  const readUnlessLost = await unlessLost(read, () => readStoreIdentity(client));
  return openPollingCache(() => readVersion(client), readUnlessLost, { ...options, tables });
}

/**
 * @returns the same, which throws a StoreError when the store was lost and made anew, and lacks what it had: the last
 * key of a sensor must not be gone because its table is.
 */
export async function unlessLost<T extends OfRecords>(
  read: () => Promise<T>,
  readIdentity: () => Promise<string>,
): Promise<() => Promise<T>> {
  const identity = await readIdentity();
  let kinds: ReadonlySet<string> = new Set();
  return async () => {
    const content = await read();
    const lacksSome = [...kinds].some((kind) => !content.kinds.has(kind));
    if (lacksSome && (await readIdentity()) !== identity) {
      throw new StoreError("the database was made anew and is empty; if that is intended, restart the service");
    }
    kinds = content.kinds;
    return content;
  };
}
