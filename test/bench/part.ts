import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import type { Line } from "./line.ts";
import type { LoadClient } from "./load/client.ts";
import type { HeavyTag } from "./shape.ts";
import type { World } from "./world.ts";

/** How much and how long a part measures. */
export type Pace = {
  /** Both sides of a ratio are measured so often, in turn. */
  readonly rounds: number;
  /** Each side of a load takes so long a round. */
  readonly loadSeconds: number;
  /** A question that is answered faster is asked again and again for so long a round. */
  readonly repeatMs: number;
  /** Observations in a Kafka message: each of these numbers is measured. */
  readonly perMessage: readonly number[];
};

/** What a run gives to each of its parts. */
export type Run = {
  readonly clickhouse: ClickHouseConnection;
  /** The address of a broker, which starts when it is first asked for. */
  readonly broker: () => Promise<string>;
  /** Observations of the largest world. */
  readonly size: number;
  readonly seed: number;
  readonly pace: Pace;
  /** Callers in a process of their own. */
  readonly load: LoadClient;
  /** The worlds of {@link Run.size}, which all parts share. */
  readonly world: (heavyTag?: HeavyTag) => Promise<World>;
  /** The worlds that the growth part compares with that one, by their share of its size, smallest first. */
  readonly smaller: readonly number[];
  /** Another one, which the caller closes. */
  readonly openWorld: (size: number) => Promise<World>;
  readonly say: (text: string) => void;
};

export type Measured = {
  readonly lines: readonly Line[];
  /** What the reader of the lines must know, such as why one is missing. */
  readonly notes?: readonly string[];
  /** What could not be measured, with the error. */
  readonly failures?: readonly string[];
};

/** Something that is measured against its peers. */
export type Part = {
  readonly name: string;
  readonly what: string;
  /** Whether it asks for the world with a changing heavy tag, which is then made before it is measured. */
  readonly usesWorld: boolean;
  measure(run: Run): Promise<Measured>;
};
