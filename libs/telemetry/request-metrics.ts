import { Counter, Histogram, type Registry } from "prom-client";

/** What the requests of one operation add up to. */
type Totals = {
  readonly byStatus: Map<number, number>;
  /** How many took at most as long as each bound, and longer than the bound before; last, longer than all. */
  readonly counts: number[];
  seconds: number;
};

export type RequestMetrics = {
  readonly counter: Counter<"operation" | "status">;
  record(operation: string, status: number, seconds: number): void;
};

/**
 * Counts and times requests. The labels of each value, which prom-client checks and hashes, took a twelfth of the time
 * of a lookup: so values are added up by operation, and labelled when they are read.
 * @param bounds of the durations' buckets in seconds, ascending.
 */
export function requestMetrics(registers: Registry[], bounds: readonly number[]): RequestMetrics {
  const totals = new Map<string, Totals>();
  const totalsOf = (operation: string): Totals => {
    const added = { byStatus: new Map(), counts: [...bounds, Number.POSITIVE_INFINITY].map(() => 0), seconds: 0 };
    totals.set(operation, added);
    return added;
  };
  const counter = new Counter({
    name: "noisefloor_http_requests_total",
    help: "Requests answered, by operation and status; 499 means that the client disconnected first",
    labelNames: ["operation", "status"],
    registers,
    collect() {
      this.reset();
      for (const [operation, { byStatus }] of totals) {
        for (const [status, requests] of byStatus) this.inc({ operation, status }, requests);
      }
    },
  });
  new Durations(registers, bounds, totals);
  return {
    counter,
    record(operation, status, seconds) {
      const total = totals.get(operation) ?? totalsOf(operation);
      total.byStatus.set(status, (total.byStatus.get(status) ?? 0) + 1);
      let place = 0;
      while (seconds > (bounds[place] ?? Number.POSITIVE_INFINITY)) place++;
      total.counts[place] = (total.counts[place] ?? 0) + 1;
      total.seconds += seconds;
    },
  };
}

const DURATION = {
  name: "noisefloor_http_request_duration_seconds",
  help: "From a request's header to the end of its response",
};

/** A histogram of totals that are kept elsewhere. */
class Durations extends Histogram<"operation"> {
  readonly #bounds: readonly number[];
  readonly #totals: ReadonlyMap<string, Totals>;

  constructor(registers: Registry[], bounds: readonly number[], totals: ReadonlyMap<string, Totals>) {
    super({ ...DURATION, labelNames: ["operation"], buckets: [...bounds], registers });
    this.#bounds = bounds;
    this.#totals = totals;
  }

  /** What a registry asks a histogram for. */
  async getForPromString() {
    const values = [...this.#totals].flatMap(([operation, total]) => this.#valuesOf(operation, total));
    return { ...DURATION, type: "histogram", aggregator: "sum", values };
  }

  #valuesOf(operation: string, { counts, seconds }: Totals) {
    const { name } = DURATION;
    let requests = 0;
    const buckets = counts.map((count, place) => {
      requests += count;
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[place] ?? "+Inf", operation },
        value: requests,
      };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { operation }, value: seconds },
      { metricName: `${name}_count`, labels: { operation }, value: requests },
    ];
  }
}
