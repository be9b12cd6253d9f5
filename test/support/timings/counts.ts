import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";

/** What a file of tests made this machine do: the costs that do not depend on how busy it is. */
export type Counts = {
  /** Processes started. */
  starts: number;
  /** Databases taken. */
  worlds: number;
  /** Inserts sent to ClickHouse by the test's own process. */
  inserts: number;
};

declare module "vitest" {
  interface TaskMeta {
    counts?: Counts;
  }
}

let counts: Counts = { starts: 0, worlds: 0, inserts: 0 };

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
  const taken = counts;
  counts = { starts: 0, worlds: 0, inserts: 0 };
  return taken;
}
