import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { type EventPosition, readEvents, readLogHead } from "@noisefloor/clickhouse/watches/log.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";

export type StreamOptions = {
  readonly workspaceId: string;
  readonly client: ClickHouseClient;
  /** `Last-Event-ID`: events after that one; left out, those that come from now on. */
  readonly lastEventId: string | undefined;
  /** Whether the key of the request still holds. */
  readonly isAllowed: () => boolean;
  /** Aborts when the client is gone or the server closes. */
  readonly signal: AbortSignal;
};

const EVERY_MS = 2_000;
/** Proxies close a connection on which nothing is sent for a minute. */
const ALIVE_MS = 20_000;
const PAGE = 100;

/**
 * Events as server-sent events, until the key is revoked. An event's id is its place in the log.
 * @throws HttpError 400 for an id that is none.
 */
export async function openStream(options: StreamOptions): Promise<AsyncGenerator<string>> {
  const { client, lastEventId } = options;
  return stream(lastEventId === undefined ? await endOfLog(client) : afterId(lastEventId), options);
}

async function* stream(start: EventPosition, options: StreamOptions): AsyncGenerator<string> {
  const { client, workspaceId, isAllowed, signal } = options;
  let from = start;
  yield "retry: 5000\n\n";
  let sentAt = performance.now();
  while (!signal.aborted && isAllowed()) {
    // While the store is away nothing comes.
    const events = await readEvents(client, { workspaceId, from, limit: PAGE }).catch(() => []);
    for (const { look, index, body } of events) {
      from = { look, index: index + 1 };
      yield `id: ${look}.${index}\ndata: ${body}\n\n`;
    }
    if (events.length > 0) sentAt = performance.now();
    else if (performance.now() - sentAt > ALIVE_MS) {
      yield ": \n\n";
      sentAt = performance.now();
    }
    if (events.length < PAGE) await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => {});
  }
}

const endOfLog = async (client: ClickHouseClient): Promise<EventPosition> => ({
  look: ((await readLogHead(client))?.look ?? 0) + 1,
  index: 0,
});

function afterId(text: string): EventPosition {
  const [, look, index] = /^(\d{1,15})\.(\d{1,9})$/.exec(text) ?? [];
  if (look === undefined) throw new HttpError(400, "Last-Event-ID is no id of an event");
  return { look: Number(look), index: Number(index) + 1 };
}
