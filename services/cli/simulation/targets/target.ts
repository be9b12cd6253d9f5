import type { SimulatedObservation } from "../simulate.ts";

/** Where simulated observations go. */
export type SimulationTarget = {
  /** What the summary calls it. */
  readonly verb: string;
  /** The most observations that `send` gets at a time. */
  readonly maxBatch: number;
  /** After so many calls of `send`, one of them has to end before the next. */
  readonly concurrent: number;
  /** Resolves with how many of those that it takes were accepted, once they are safe. */
  send(observations: readonly SimulatedObservation[]): Promise<number>;
  close(): Promise<void>;
};
