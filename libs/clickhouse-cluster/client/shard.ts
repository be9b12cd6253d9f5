/** A shard of a cluster. Rows go to it in proportion to its weight. */
export type Shard = {
  readonly number: number;
  readonly weight: number;
  /** Its servers, in the order of the configuration. Each has all its rows. */
  readonly hosts: readonly string[];
};

/** The index of the shard that has each remainder of a division by the sum of all weights. */
export function slotsOf(shards: readonly Shard[]): readonly number[] {
  return shards.flatMap(({ weight }, index) => Array.from({ length: weight }, () => index));
}

/**
 * Which shard has an address (an unsigned 32-bit integer), as an index into the shards: what `observations` says in the
 * table registry, as the Distributed tables read it. Always 0 when there are no shards.
 */
export function shardOfAddress(shards: readonly Shard[]): (address: number) => number {
  const slots = slotsOf(shards);
  return (address) => (slots.length === 0 ? 0 : (slots[address % slots.length] ?? 0));
}
