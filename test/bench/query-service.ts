import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import getPort from "get-port";
import { eventually } from "../support/eventually.ts";
import { openCommandLine } from "../support/worlds/command-line.ts";
import { environmentOf } from "../support/worlds/ingest-process.ts";
import { getRequest } from "./load/protocol.ts";

/** A real `noisefloor query`, that one caller with every right asks. */
export type QueryService = {
  readonly port: number;
  readonly pid: number;
  /** The whole answer, as text. @throws if its status is not one of these. */
  get(path: string, statuses?: readonly number[]): Promise<string>;
  /** Reads an answer of 200 and keeps nothing of it: to make a text of a large one takes as long as to answer it. */
  drain(path: string): Promise<void>;
  /** Asks a search until memory answers it: the first one loads what it needs. @throws after some minutes. */
  untilInMemory(path: string): Promise<void>;
  post(path: string, body: string): Promise<string>;
  /** A request as the callers of a load send it. */
  request(path: string): string;
  close(): Promise<void>;
};

const PUBLIC_URL = "http://noisefloor.test";
const START_TIMEOUT_MS = 120_000;
const ANSWER_TIMEOUT_MS = 120_000;
const LOAD_TIMEOUT_MS = 300_000;

export async function startQueryService(
  connection: ClickHouseConnection,
  key: string,
  env: Record<string, string> = {},
): Promise<QueryService> {
  const commandLine = await openCommandLine();
  const port = await getPort({ host: "127.0.0.1" });
  const url = `http://127.0.0.1:${port}`;
  const { child, errors, finished } = commandLine.run(["query"], {
    ...environmentOf(connection),
    // The default, which the command line of the tests does not have.
    LOG_LEVEL: "info",
    HTTP_PORT: String(port),
    PUBLIC_URL,
    // As docker-compose.yml sets it.
    NODE_OPTIONS: "--max-old-space-size=512",
    ...env,
  });
  const agent = new Agent({ keepAlive: true });
  const close = async () => {
    agent.destroy();
    child.kill("SIGTERM");
    await finished;
    await commandLine.close();
  };
  const ready = async () => {
    if (child.exitCode !== null) return;
    if (!(await fetch(`${url}/readyz`)).ok) throw new Error("the query service is not ready");
  };
  await eventually(ready, START_TIMEOUT_MS);
  if (child.exitCode !== null) throw new Error(`the query service ended: ${errors().slice(-1_500)}`);
  const untilInMemory = (path: string) =>
    eventually(async () => {
      const { headers } = await fetch(`${url}${path}`, { headers: { key } });
      const from = headers.get("server-timing");
      if (from !== "read;desc=memory") throw new Error(`${path}: not in memory (${from})`);
    }, LOAD_TIMEOUT_MS);
  const ask = async (path: string, init: RequestInit, statuses: readonly number[]) => {
    const response = await fetch(`${url}${path}`, { ...init, headers: { key } });
    const text = await response.text();
    if (!statuses.includes(response.status)) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`);
    return text;
  };
  const drain = async (path: string) => {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const [response]: IncomingMessage[] = await once(
      get(`${url}${path}`, { agent, headers: { key }, signal }),
      "response",
    );
    if (response === undefined) throw new Error(`${path}: no answer`);
    response.resume();
    await once(response, "end");
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  };
  if (child.pid === undefined) throw new Error("the query service has no process");
  return {
    port,
    pid: child.pid,
    drain,
    untilInMemory,
    get: (path, statuses = [200]) => ask(path, {}, statuses),
    post: (path, body) => ask(path, { method: "POST", body }, [200]),
    request: (path) => getRequest(path, { key }),
    close,
  };
}
