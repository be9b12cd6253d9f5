import type { SimulatedObservation } from "../simulate.ts";

/** Where simulated observations go. */
export type SimulationTarget = {
  /** What the summary calls it. */
  readonly verb: string;
  /** Resolves with how many of those that it takes were accepted, once they are safe. */
  send(observations: readonly SimulatedObservation[]): Promise<number>;
  close(): Promise<void>;
};
