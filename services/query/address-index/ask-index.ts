import type { AddressIndex } from "./memory-lookup.ts";

/** What the index in memory says; undefined when it is not up to date. @param ask may yield. */
export async function askIndex<T>(
  index: AddressIndex | undefined,
  ask: (index: AddressIndex) => Promise<T>,
): Promise<T | undefined> {
  if (!index?.isCurrent()) return undefined;
  const found = await ask(index);
  // A reload that began in the meantime emptied the index first.
  return index.isCurrent() ? found : undefined;
}
