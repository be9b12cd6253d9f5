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

/** What decides whether an address can be benign. */
export type Standing = {
  /** Whether it is in the networks of a known benign actor. */
  readonly isActor: boolean;
  /** Whether an observation shows an attack of it: see `isAttack`. */
  readonly hasAttacked: boolean;
};

/** The classification of an address that was seen scanning, by the intentions of its tags. Source: API, community lookup. */
export function classify(intentions: Iterable<Intention>, standing: Standing): Classification {
  let worst = -1;
  for (const intention of intentions) worst = Math.max(worst, INTENTIONS.indexOf(intention));
  return INTENTIONS[severityOf(worst, standing)] ?? "unknown";
}

const [BENIGN, UNKNOWN, SUSPICIOUS] = [0, 1, 2];

/**
 * The severity that counts: benign for a known benign actor, else the worst of the tags, else unknown. Who attacked is
 * never benign: an actor is suspicious at least, and others as if they had no benign tag. `severitySql` is the same.
 * @param worst the worst severity of the tags; -1 without tags.
 */
export function severityOf(worst: number, { isActor, hasAttacked }: Standing): number {
  if (isActor) return hasAttacked ? Math.max(worst, SUSPICIOUS) : BENIGN;
  return hasAttacked || worst < 0 ? Math.max(worst, UNKNOWN) : worst;
}
