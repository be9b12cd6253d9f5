import { isUtf8 } from "node:buffer";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";
import {
  homeOf,
  isHomeMeant,
  isMeant,
  type Letter,
  type LetterFilter,
  type OpenedLetter,
} from "@noisefloor/ingest/letters/letter.ts";
import { openTableLettersById, readTableLetters } from "@noisefloor/ingest/letters/table-letters.ts";
import { isTopicId } from "@noisefloor/ingest/letters/topic-letters.ts";
import { type FilterOptions, isTopicRead, readFilter, readTopic } from "../dead-letter-homes.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import { withStoreAsItIs } from "../store.ts";

export type ListOptions = FilterOptions & OutputOptions & { readonly limit: number; readonly includeDone: boolean };

type Count = Pick<Letter, "source" | "reason" | "isDone"> & { letters: number; oldest: number; newest: number };

/** `noisefloor dead-letters list`. */
export async function runDeadLettersList(options: ListOptions, context: CommandContext): Promise<void> {
  const { print } = context;
  const filter = readFilter(options, options.includeDone, Date.now());
  const topicRead = isTopicRead(filter, context);
  await withStoreAsItIs(context, async (client) => {
    const tally = letterTally(filter, options.limit);
    if (isHomeMeant(filter, "table")) for await (const letters of readTableLetters(client)) tally.add(letters);
    const isWhole =
      !topicRead || (await readTopic(client, undefined, context, async (letters) => tally.add(letters.map(closed))));
    if (!isWhole) process.exitCode = 130;
    const [counts, letters] = [tally.counts().map(countRow), tally.newest()];
    if (options.json) {
      const told = { is_whole: isWhole, topic_read: topicRead, counts, letters: letters.map(letterJson) };
      return print(JSON.stringify(told));
    }
    if (!isWhole) print("Stopped before the topic was read to its end; what follows is what was read.");
    show(counts, options, context);
    if (letters.length === 0) return;
    print();
    print(`The newest ${letters.length}:`);
    show(letters.map(letterRow), options, context);
  });
}

/** A payload must not stay in memory for as long as its letter is among the newest. */
function closed({ payload: _payload, secondTry: _secondTry, headers: _headers, ...letter }: OpenedLetter): Letter {
  return letter;
}

/** Counts what streams by and keeps the newest. */
function letterTally(filter: LetterFilter, limit: number) {
  const counts = new Map<string, Count>();
  let newest: Letter[] = [];
  return {
    add(letters: readonly Letter[]) {
      for (const letter of letters) {
        if (!isMeant(letter, filter)) continue;
        const { source, reason, isDone, keptAt } = letter;
        const key = `${homeOf(source)} ${source} ${reason} ${Number(isDone)}`;
        const count = counts.get(key) ?? { source, reason, isDone, letters: 0, oldest: keptAt, newest: keptAt };
        counts.set(key, count);
        count.letters++;
        count.oldest = Math.min(count.oldest, keptAt);
        count.newest = Math.max(count.newest, keptAt);
        newest.push(letter);
      }
      newest = newest.sort((one, other) => other.keptAt - one.keptAt).slice(0, limit);
    },
    counts: () => [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, count]) => count),
    newest: () => newest,
  };
}

const stateOf = ({ isDone }: Pick<Letter, "isDone">) => (isDone ? "done" : "open");

function countRow(count: Count) {
  const { source, reason, letters, oldest, newest } = count;
  const times = { oldest: formatTimestamp(oldest), newest: formatTimestamp(newest) };
  return { home: homeOf(source), source, reason, state: stateOf(count), letters, ...times };
}

const SHOWN_DETAIL_LENGTH = 100;

function letterRow(letter: Letter) {
  const { id, keptAt, source, reason, origin, position, detail } = letter;
  const kept = formatTimestamp(keptAt);
  const shown = detail.length > SHOWN_DETAIL_LENGTH ? `${detail.slice(0, SHOWN_DETAIL_LENGTH)}...` : detail;
  return { id, kept, state: stateOf(letter), source, origin, position, reason, detail: shown };
}

function letterJson(letter: Letter) {
  const { id, source, origin, position, bytes, keptAt, judgedAt, reason, detail } = letter;
  const retried = judgedAt === undefined ? null : formatTimestamp(judgedAt);
  const place = { home: homeOf(source), source, origin, position };
  return { id, ...place, kept: formatTimestamp(keptAt), retried, state: stateOf(letter), reason, detail, bytes };
}

/** `noisefloor dead-letters show`. @param write puts bytes on standard output as they are. */
export async function runDeadLettersShow(
  id: string,
  options: OutputOptions & { readonly raw: boolean },
  context: CommandContext,
  write: (bytes: Buffer) => void,
): Promise<void> {
  await withStoreAsItIs(context, async (client) => {
    const letter = await findLetter(client, id, context);
    if (letter === undefined) {
      process.exitCode = 130;
      return;
    }
    if (options.raw) return write(letter.payload);
    if (options.json) {
      const payload_base64 = letter.payload.toString("base64");
      return context.print(JSON.stringify({ ...letterJson(letter), headers: letter.headers, payload_base64 }));
    }
    showLetter(letter, context);
  });
}

/** @returns undefined when Ctrl-C came before it was found. */
async function findLetter(
  client: ClickHouseClient,
  id: string,
  context: CommandContext,
): Promise<OpenedLetter | undefined> {
  requireId(id, context);
  const found: OpenedLetter[] = [];
  if (isTopicId(id)) {
    const isWhole = await readTopic(client, [id], context, async (letters) => void found.push(...letters));
    if (!isWhole) return undefined;
  } else for await (const letters of openTableLettersById(client, [id])) found.push(...letters);
  const [letter] = found;
  if (letter === undefined) throw new UserError(`there is no dead letter ${id}: see "noisefloor dead-letters list"`);
  return letter;
}

/** Throws a UserError when a text cannot be the id of a letter that can be reached. */
export function requireId(id: string, { settings }: CommandContext): void {
  if (isTopicId(id)) {
    if (settings.kafka !== undefined) return;
    throw new UserError(`${id} is a letter of the dead-letter topic, and KAFKA_BROKERS is not set`);
  }
  if (!/^[0-9a-f]{16}$/.test(id)) {
    throw new UserError(`"${printable(id)}" is no id of a dead letter: see "noisefloor dead-letters list"`);
  }
}

function showLetter(letter: OpenedLetter, { print }: CommandContext): void {
  const { headers, payload, ...rest } = letter;
  const { bytes, ...told } = letterJson({ ...rest });
  for (const [name, value] of Object.entries(told)) {
    print(`${name.padEnd(8)}  ${value === null ? "never" : printable(String(value))}`);
  }
  for (const [name, value] of Object.entries(headers)) print(`header    ${printable(name)}: ${printable(value)}`);
  const isText = isUtf8(payload) && /^[^\p{Cc}\p{Cf}]*$/u.test(payload.toString("utf8").replace(/[\t\r\n]/g, ""));
  print(`payload   ${bytes} bytes, ${isText ? "as text" : "in hex"}:`);
  print(isText ? payload.toString("utf8") : payload.toString("hex"));
}
