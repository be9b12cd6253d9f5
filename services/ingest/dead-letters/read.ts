import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { deadLetterRetries, type StoredRetry } from "@noisefloor/clickhouse/dead-letters/dead-letter-retries.ts";
import { type DeadLetterFilter, readSelectedIds } from "@noisefloor/clickhouse/dead-letters/dead-letter-selection.ts";
import {
  type DeadLetterContents,
  readContents,
  readDeadLettersById,
  type StoredDeadLetter,
} from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";

/** A dead letter without its contents, as its last retry left it. */
export type DeadLetterSummary = StoredDeadLetter & {
  /** When it was retried last, in milliseconds since 1970 UTC; undefined when it never was. */
  readonly retriedAt: number | undefined;
  /** Whether a retry has stored what it holds. */
  readonly isDone: boolean;
  /** Why it was rejected last, by a retry or otherwise. */
  readonly reason: string;
  readonly detail: string;
  /** Why its source rejected it. */
  readonly firstReason: string;
};

export type OpenedDeadLetter = DeadLetterSummary & DeadLetterContents;

/** Dead letters with these ids, without their contents, in the order of the ids. */
export async function readSummariesById(
  client: ClickHouseClient,
  ids: readonly string[],
): Promise<DeadLetterSummary[]> {
  const found: DeadLetterSummary[] = [];
  for (const some of chunksOf(ids, () => 0, { items: IDS_PER_QUERY, bytes: 0 })) {
    found.push(...(await withRetries(client, await readDeadLettersById(client, some))));
  }
  const positions = new Map(ids.map((id, index) => [id, index]));
  return found.sort((one, other) => (positions.get(one.id) ?? 0) - (positions.get(other.id) ?? 0));
}

/** A parameter's text must stay below the server's 128 KiB. */
const IDS_PER_QUERY = 4_000;

/**
 * The selected dead letters with their contents, some at a time.
 * @param onRead called with how many were read since the last call.
 */
export async function* openDeadLetters(
  client: ClickHouseClient,
  filter: DeadLetterFilter,
  onRead: (deadLetters: number) => void = () => {},
): AsyncGenerator<OpenedDeadLetter[]> {
  for await (const page of readSelectedIds(client, filter)) {
    for (const ids of chunksOf(page, () => 0, { items: IDS_PER_QUERY, bytes: 0 })) {
      yield* openDeadLettersById(client, ids);
      onRead(ids.length);
    }
  }
}

/** The dead letters with these ids, with their contents, some at a time. */
export async function* openDeadLettersById(
  client: ClickHouseClient,
  ids: readonly string[],
): AsyncGenerator<OpenedDeadLetter[]> {
  yield* open(client, await withRetries(client, await readDeadLettersById(client, ids)));
}

async function withRetries(client: ClickHouseClient, page: readonly StoredDeadLetter[]): Promise<DeadLetterSummary[]> {
  const ids = page.map(({ id }) => id);
  const retries = new Map((await deadLetterRetries.readByIds(client, ids)).map((retry) => [retry.id, retry]));
  return page.map((deadLetter) => withRetry(deadLetter, retries.get(deadLetter.id)));
}

/** A record that came again and was rejected after its retry is open again, for its new reason. */
function withRetry(deadLetter: StoredDeadLetter, retry: StoredRetry | undefined): DeadLetterSummary {
  const summary = { ...deadLetter, retriedAt: retry?.retriedAt, isDone: false, firstReason: deadLetter.reason };
  if (retry === undefined || retry.retriedAt < deadLetter.receivedAt) return summary;
  if (retry.isDone) return { ...summary, isDone: true };
  return { ...summary, reason: retry.reason, detail: retry.detail };
}

/** The maximum number of dead letters, and of bytes of their payloads, in memory at one time. */
const AT_ONCE = { items: 2_000, bytes: 8 * 1024 * 1024 };

async function* open(
  client: ClickHouseClient,
  deadLetters: readonly DeadLetterSummary[],
): AsyncGenerator<OpenedDeadLetter[]> {
  for (const chunk of chunksOf(deadLetters, ({ keptBytes }) => keptBytes, AT_ONCE)) {
    const contents = await readContents(client, chunk);
    yield chunk.flatMap((deadLetter) => {
      const found = contents.get(deadLetter.id);
      // Undefined when it was deleted by age since its page was read.
      return found === undefined ? [] : [{ ...deadLetter, ...found }];
    });
  }
}
