import { isUtf8 } from "node:buffer";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { countAndFindNewest, type DeadLetterCount } from "@noisefloor/clickhouse/dead-letters/dead-letter-selection.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import {
  type DeadLetterSummary,
  type OpenedDeadLetter,
  openDeadLettersById,
  readSummariesById,
} from "@noisefloor/ingest/dead-letters/read.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { withStoreToRead } from "../../store/store.ts";
import { type FilterOptions, readFilter } from "./filter.ts";

export type ListOptions = FilterOptions & OutputOptions & { readonly limit: number; readonly includeDone: boolean };

/** `noisefloor dead-letters list`. */
export async function runDeadLettersList(options: ListOptions, context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const filter = readFilter(options, options.includeDone, Date.now());
  await withStoreToRead(context, async (client) => {
    const none = { counts: [], ids: [] };
    const { counts, ids } = signal.aborted ? none : await countAndFindNewest(client, filter, options.limit);
    const deadLetters = signal.aborted ? [] : await readSummariesById(client, ids);
    if (signal.aborted) process.exitCode = 130;
    if (options.json) {
      const lists = { counts: counts.map(countRow), dead_letters: deadLetters.map(toJson) };
      return print(JSON.stringify({ is_complete: !signal.aborted, ...lists }));
    }
    if (signal.aborted) print("Interrupted: the list is incomplete.");
    show(counts.map(countRow), options, context);
    if (deadLetters.length === 0) return;
    print();
    print(`The newest ${deadLetters.length}:`);
    show(deadLetters.map(listRow), options, context);
  });
}

const stateOf = ({ isDone }: Pick<DeadLetterSummary, "isDone">) => (isDone ? "done" : "open");

/** A count as scripts and people see it. */
export function countRow(row: DeadLetterCount) {
  const { source, reason, count, oldest, newest } = row;
  return {
    source,
    reason,
    state: stateOf(row),
    count,
    oldest: formatTimestamp(oldest),
    newest: formatTimestamp(newest),
  };
}

const SHOWN_DETAIL_LENGTH = 100;

function listRow(deadLetter: DeadLetterSummary) {
  const { id, receivedAt, source, sensorId, keyId, reason, origin, position, detail } = deadLetter;
  const shown = detail.length > SHOWN_DETAIL_LENGTH ? `${detail.slice(0, SHOWN_DETAIL_LENGTH)}...` : detail;
  const received = formatTimestamp(receivedAt);
  const [sensor, key] = [sensorId || "-", keyId || "-"];
  return { id, received, state: stateOf(deadLetter), source, sensor, key, origin, position, reason, detail: shown };
}

function toJson(deadLetter: DeadLetterSummary) {
  const { id, source, origin, position, payloadBytes, keptBytes, receivedAt, retriedAt, reason, detail } = deadLetter;
  return {
    id,
    source,
    sensor: deadLetter.sensorId,
    key: deadLetter.keyId,
    origin,
    position,
    received: formatTimestamp(receivedAt),
    retried: retriedAt === undefined ? null : formatTimestamp(retriedAt),
    state: stateOf(deadLetter),
    reason,
    detail,
    bytes: payloadBytes,
    kept_bytes: keptBytes,
  };
}

/** `noisefloor dead-letters show`. @param write puts bytes on standard output as they are. */
export async function runDeadLettersShow(
  id: string,
  options: OutputOptions & { readonly raw: boolean },
  context: CommandContext,
  write: (bytes: Buffer) => void,
): Promise<void> {
  assertId(id);
  await withStoreToRead(context, async (client) => {
    const deadLetter = await findDeadLetter(client, id);
    if (options.raw) write(deadLetter.payload);
    else if (options.json) context.print(JSON.stringify(toFullJson(deadLetter)));
    else printDeadLetter(deadLetter, context);
  });
}

async function findDeadLetter(client: ClickHouseClient, id: string): Promise<OpenedDeadLetter> {
  for await (const [deadLetter] of openDeadLettersById(client, [id])) if (deadLetter !== undefined) return deadLetter;
  throw new UserError(`there is no dead letter ${id}: see "noisefloor dead-letters list"`);
}

/** Throws a UserError when a text cannot be the id of a dead letter. */
export function assertId(id: string): void {
  if (/^[0-9a-f]{16}$/.test(id)) return;
  throw new UserError(`"${printable(id)}" is no id of a dead letter: see "noisefloor dead-letters list"`);
}

function toFullJson(deadLetter: OpenedDeadLetter) {
  const { message, payload } = deadLetter;
  return {
    ...toJson(deadLetter),
    kafka: message && {
      topic: message.topic,
      partition: message.partition,
      offset: message.offset,
      key_base64: message.key.toString("base64"),
      key_bytes: message.keyBytes,
      headers: message.headers,
    },
    payload_base64: payload.toString("base64"),
  };
}

function printDeadLetter(deadLetter: OpenedDeadLetter, { print }: CommandContext): void {
  const { payload, message } = deadLetter;
  const { bytes, kept_bytes: keptBytes, ...members } = toJson(deadLetter);
  for (const [name, value] of Object.entries(members)) {
    print(`${name.padEnd(8)}  ${value === null ? "never" : printable(String(value))}`);
  }
  if (message !== undefined && message.keyBytes > 0) {
    const key = isPlainText(message.key) ? message.key.toString("utf8") : `${message.key.toString("hex")} (in hex)`;
    print(`key       ${formatCut(message.keyBytes, message.key.length)}: ${printable(key)}`);
  }
  for (const [name, value] of Object.entries(message?.headers ?? {})) {
    print(`header    ${printable(name)}: ${printable(value)}`);
  }
  const isText = isPlainText(payload);
  print(`payload   ${formatCut(bytes, keptBytes)}, ${isText ? "as text" : "in hex"}:`);
  print(isText ? payload.toString("utf8") : payload.toString("hex"));
}

const formatCut = (bytes: number, kept: number) =>
  kept < bytes ? `${bytes} bytes, of which the first ${kept} are stored` : `${bytes} bytes`;

/** Whether a terminal shows all of it, and is commanded by none of it. */
function isPlainText(bytes: Buffer): boolean {
  return isUtf8(bytes) && /^[^\p{Cc}\p{Cf}]*$/u.test(bytes.toString("utf8").replace(/[\t\r\n]/g, ""));
}
