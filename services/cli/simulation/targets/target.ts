import type { SimulatedObservation } from "../simulate.ts";

/** Where simulated observations go. */
export type SimulationTarget = {
  /** What the summary calls it. */
  readonly verb: string;
  /** It takes so many observations at a time, */
  readonly maxBatch: number;
  /** of which so many batches are on their way before it has to be waited for. */
  readonly concurrent: number;
  /** Resolves with how many of those that it takes were accepted, once they are safe. */
  send(observations: readonly SimulatedObservation[]): Promise<number>;
  close(): Promise<void>;
};
