import { isGlobalOnly, type Scope } from "@noisefloor/domain/access/scope.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";

/** The answer from the index in memory; undefined when it lacks addresses of these scopes, or is not up to date. */
export async function askIndex<T>(
  scopes: readonly Scope[],
  index: AddressIndex | undefined,
  ask: (index: AddressIndex) => Promise<T>,
): Promise<T | undefined> {
  if (!isGlobalOnly(scopes) || !index?.isCurrent()) return undefined;
  const answer = await ask(index);
  // A reload that began in the meantime empties the index first.
  return index.isCurrent() ? answer : undefined;
}

/** Visiting all addresses blocks the event loop: others get their turn after each step. */
export async function takeTurns(steps: Iterable<void>, signal: AbortSignal): Promise<void> {
  for (const _step of steps) {
    signal.throwIfAborted();
    await ownTurn();
  }
}
