import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { readVerdicts } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import { parseObservedAt, REJECTION_REASONS } from "@noisefloor/domain/observation.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/window.ts";
import {
  isHomeMeant,
  LETTER_SOURCES,
  type LetterFilter,
  type OpenedLetter,
  UNKNOWN_REASON,
} from "@noisefloor/ingest/letters/letter.ts";
import { readTopicLetters } from "@noisefloor/ingest/letters/topic-letters.ts";
import { type CommandContext, UserError } from "./framework/command.ts";
import { progressBar } from "./framework/progress.ts";

export type FilterOptions = {
  readonly reason?: string | undefined;
  readonly source?: string | undefined;
  readonly since?: string | undefined;
};

/** Throws a UserError when an option names something that is not there. */
export function readFilter({ reason, source, since }: FilterOptions, includeDone: boolean, now: number): LetterFilter {
  const reasons: readonly string[] = [...REJECTION_REASONS, UNKNOWN_REASON];
  if (reason !== undefined && !reasons.includes(reason)) {
    throw new UserError(`there is no reason "${reason}"; there are ${reasons.join(", ")}`);
  }
  const known = LETTER_SOURCES.find((name) => name === source);
  if (source !== undefined && known === undefined) {
    throw new UserError(`there is no source "${source}"; there are ${LETTER_SOURCES.join(", ")}`);
  }
  return { reason, source: known, since: since === undefined ? undefined : readSince(since, now), includeDone };
}

function readSince(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const time = count === undefined ? parseObservedAt(text) : now - Number(count) * (unit === "h" ? HOUR_MS : DAY_MS);
  if (time !== undefined) return time;
  throw new UserError(`--since takes a time like 2026-11-20T14:00:00Z, or 12h or 7d, not "${text}"`);
}

/**
 * Whether the topic is to be read. Without brokers it cannot be: whoever asks for it by name is refused, all others are
 * told, for it would look as if it were empty.
 * @throws UserError
 */
export function isTopicRead(filter: LetterFilter, { settings, log }: CommandContext): boolean {
  if (!isHomeMeant(filter, "topic")) return false;
  if (settings.kafka !== undefined) return true;
  if (filter.source === "kafka") {
    throw new UserError("letters of Kafka are in the dead-letter topic, and KAFKA_BROKERS is not set");
  }
  log.warn("the dead-letter topic is not read: KAFKA_BROKERS is not set");
  return false;
}

/**
 * Reads the dead-letter topic, with a bar. There must be brokers.
 * @param ids only these; all when left out.
 * @returns false when Ctrl-C ended it before the end.
 */
export async function readTopic(
  client: ClickHouseClient,
  ids: readonly string[] | undefined,
  { settings, signal, log }: CommandContext,
  handle: (letters: OpenedLetter[]) => Promise<void>,
): Promise<boolean> {
  const { kafka } = settings;
  if (kafka === undefined) throw new Error("there are no brokers to read a topic from");
  let progress = progressBar("", 0, false);
  try {
    return await readTopicLetters(
      kafka,
      {
        readVerdicts: (letters) => readVerdicts(client, kafka.deadLetterTopic, letters),
        ids,
        signal,
        onStart: (offsets) => {
          progress = progressBar("Reading the topic", offsets, settings.logLevel !== "silent");
        },
      },
      async (letters, offsets) => {
        await handle(letters);
        progress.advance(offsets);
      },
      log,
    );
  } finally {
    progress.end();
  }
}
