import { Counter, Histogram, type Registry } from "prom-client";

/** What the requests of one operation add up to. */
type Totals = {
  readonly byStatus: Map<number, number>;
  /** Requests by the first bound that they did not exceed; at the end, those that exceeded all. */
  readonly counts: number[];
  seconds: number;
};

export type RequestMetrics = {
  readonly counter: Counter<"operation" | "status">;
  record(operation: string, status: number, seconds: number): void;
};

/**
 * Counts and times requests. Values are added up by operation and labelled when they are read, as prom-client checks
 * and hashes labels at every observation.
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
      let index = 0;
      while (seconds > (bounds[index] ?? Number.POSITIVE_INFINITY)) index++;
      total.counts[index] = (total.counts[index] ?? 0) + 1;
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
    const buckets = counts.map((count, index) => {
      requests += count;
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[index] ?? "+Inf", operation },
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
