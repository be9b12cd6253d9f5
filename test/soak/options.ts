import { parseArgs } from "node:util";

/** The command line of the soak. */
export type SoakOptions = {
  /** The names of the scenarios to run. */
  readonly scenarios: readonly string[];
  readonly seed: number;
  readonly events: number | undefined;
  readonly quick: boolean;
  readonly minutes: number;
  readonly shards: number;
  readonly replicas: number;
  /** Whether to say what there is, and to run nothing. */
  readonly help: boolean;
};

export const DEFAULTS = { seed: "20261121", minutes: "15", shards: "1", replicas: "1" };

/**
 * @param known the names of all scenarios.
 * @throws Error when an option or a scenario does not exist.
 */
export function readSoakOptions(args: readonly string[], known: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true },
      seed: { type: "string", default: DEFAULTS.seed },
      events: { type: "string" },
      quick: { type: "boolean", default: false },
      minutes: { type: "string", default: DEFAULTS.minutes },
      shards: { type: "string", default: DEFAULTS.shards },
      replicas: { type: "string", default: DEFAULTS.replicas },
      help: { type: "boolean", default: false },
    },
  });
  const unknown = values.only?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`there is no scenario ${unknown.join(", ")}; there are ${known.join(", ")}`);
  }
  return {
    scenarios: known.filter((name) => values.only?.includes(name) ?? true),
    seed: Number(values.seed),
    events: values.events === undefined ? undefined : Number(values.events),
    quick: values.quick,
    minutes: Number(values.minutes),
    shards: Number(values.shards),
    replicas: Number(values.replicas),
    help: values.help,
  };
}
