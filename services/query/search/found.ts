/** How many addresses match, and how many of them the plan reaches. */
export type FoundCounts = { readonly count: number; readonly matching: number };
export type FoundPage = FoundCounts & { readonly addresses: readonly number[] };
/** How many of them match each of some narrower searches, too. */
export type NarrowerCounts = FoundCounts & { readonly narrower: readonly number[] };
/** How many addresses have a value of a field; networks are counted as `asn` and as `organization`. */
export type FoundValue = { readonly field: string; readonly value: string; readonly count: number };
