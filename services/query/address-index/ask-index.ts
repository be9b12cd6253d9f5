import type { SightingsCache } from "./sightings-cache.ts";

/** The sightings in memory that lookups of single addresses in the global dataset are answered from. */
export type AddressIndex = Pick<SightingsCache, "find" | "severitiesOf" | "visit" | "isCurrent">;

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
