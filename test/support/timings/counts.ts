import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";

/** What a file of tests made this machine do: costs that hardly depend on how busy it is. */
export type Counts = {
  /** Processes started. */
  starts: number;
  /** Databases taken. */
  worlds: number;
  /** Inserts sent to ClickHouse by the test's own process. */
  inserts: number;
  /** Seconds of a processor that the test's own process took. */
  cpu: number;
};

declare module "vitest" {
  interface TaskMeta {
    counts?: Counts;
  }
}

export const NOTHING: Readonly<Counts> = { starts: 0, worlds: 0, inserts: 0, cpu: 0 };

let counts: Counts = { ...NOTHING };
let usedBefore = process.cpuUsage();

subscribe("child_process", () => void counts.starts++);
subscribe("http.client.request.start", (message) => {
  if (isOfRequest(message) && message.request.path.includes("query=INSERT")) counts.inserts++;
});

function isOfRequest(message: unknown): message is { readonly request: ClientRequest } {
  return typeof message === "object" && message !== null && "request" in message;
}

export function countWorld(): void {
  counts.worlds++;
}

/** @returns the counts since the last call. */
export function takeCounts(): Counts {
  const { user, system } = process.cpuUsage(usedBefore);
  const taken = { ...counts, cpu: Math.round((user + system) / 100_000) / 10 };
  usedBefore = process.cpuUsage();
  counts = { ...NOTHING };
  return taken;
}
