import { ownTurn } from "@noisefloor/domain/time/yield.ts";

/** What is done before others get their turn: a millisecond or two. */
const STEPS_PER_TURN = 32_000;

/** Does all steps, from 0 on, some in each turn of the event loop; the rest is left out when `work` returns false. */
export async function inTurns(
  steps: number,
  work: (from: number, end: number) => unknown,
  stepsPerTurn = STEPS_PER_TURN,
): Promise<void> {
  for (let from = 0; from < steps; from += stepsPerTurn) {
    if (from > 0) await ownTurn();
    if (work(from, Math.min(steps, from + stepsPerTurn)) === false) return;
  }
}
