/**
 * A tag's intention, from harmless to worst. The index in this list is the severity: ClickHouse stores the same order
 * in an Enum8, so the worst of several intentions is their maximum.
 */
export const INTENTIONS = ["benign", "unknown", "suspicious", "malicious"] as const;
export type Intention = (typeof INTENTIONS)[number];

/** For people, who look for the worst. */
export const WORST_FIRST: readonly Intention[] = [...INTENTIONS].reverse();

/** An address has the same classifications as a tag has intentions. */
export type Classification = Intention;

/**
 * The classification of an address that was seen scanning: `benign` when it belongs to a known benign actor, else the
 * worst intention among its tags, else `unknown`. Source: API, community lookup.
 */
export function classify(intentions: Iterable<Intention>, isBenignActor: boolean): Classification {
  if (isBenignActor) return "benign";
  let worst = -1;
  for (const intention of intentions) worst = Math.max(worst, INTENTIONS.indexOf(intention));
  return INTENTIONS[worst] ?? "unknown";
}
