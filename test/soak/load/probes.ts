import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** A request that a well-behaved caller repeats. */
export type Probe = {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: () => string;
  readonly body?: () => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The statuses that it may get. */
  readonly statuses: readonly number[];
  readonly everyMs: number;
  /** The longest that any response may take. */
  readonly mostMs: number;
};

export type Measured = {
  readonly asked: number;
  readonly median: number;
  readonly p99: number;
  readonly worst: number;
  /** Failures: other statuses, and errors. */
  readonly failures: readonly string[];
};

const TIMEOUT_MS = 30_000;

/** Sends one request after the other until `isOver`, now and then on a new connection. */
export async function measure(port: number, probe: Probe, isOver: () => boolean): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const failures: string[] = [];
  for (let round = 0; !isOver(); round++) {
    const start = performance.now();
    // New connections have to be accepted as well.
    const outcome = await ask(port, probe, round % 5 === 0 ? undefined : agent);
    times.push(performance.now() - start);
    if (outcome !== undefined) failures.push(outcome);
    await sleep(probe.everyMs);
  }
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round((times[Math.floor((times.length - 1) * share)] ?? 0) * 10) / 10;
  return { asked: times.length, median: at(0.5), p99: at(0.99), worst: at(1), failures };
}

/** @returns the failure, if any. */
function ask(port: number, probe: Probe, agent: Agent | undefined): Promise<string | undefined> {
  return new Promise((settle) => {
    const { method, headers } = probe;
    const options = { host: "127.0.0.1", port, method, path: probe.path(), timeout: TIMEOUT_MS };
    const asked = request({ ...options, agent: agent ?? false, headers: { ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (data: string) => (text += data));
      response.once("close", () => {
        const { statusCode = 0 } = response;
        settle(probe.statuses.includes(statusCode) ? undefined : `${statusCode} ${text.slice(0, 120)}`);
      });
    });
    asked.once("timeout", () => asked.destroy(new Error("no answer within 30 s")));
    asked.once("error", (error) => settle(error.message));
    asked.end(probe.body?.());
  });
}
