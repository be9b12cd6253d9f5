import type { Verdict } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import type { RejectionReason } from "@noisefloor/domain/observation.ts";
import type { StreamMessage } from "@noisefloor/kafka/source.ts";
import { readTopic, type Span } from "@noisefloor/kafka/topic-reader.ts";
import type { Logger } from "pino";
import { z } from "zod";
import { splitMessage } from "../decode.ts";
import { messageRecordId } from "../record-id.ts";
import type { KafkaSettings } from "../service.ts";
import type { OpenedLetter, SecondTry } from "./letter.ts";

/** What `deadLettersTo` writes beside each payload. */
const headersSchema = z.object({
  "noisefloor-reason": z.string(),
  "noisefloor-detail": z.string(),
  "noisefloor-topic": z.string(),
  "noisefloor-partition": z.coerce.number().int(),
  "noisefloor-offset": z.string(),
  "noisefloor-index": z.coerce.number().int(),
  "noisefloor-cut-from": z.string().optional(),
});

/** Reasons for which a whole message may have been kept, because it could not be taken apart. */
const WHOLE_MESSAGE_REASONS = new Set(["not-json", "too-many-observations"]);

/** The reason for which a letter may be a batch of messages that nobody could take apart. */
const UNREADABLE: RejectionReason = "unreadable-batch";

export type TopicTerms = {
  /** What retries said of the topic's letters before. */
  readonly verdicts: readonly Verdict[];
  /** Only these, by `partition/offset`; all when left out. */
  readonly ids?: readonly string[] | undefined;
  readonly onStart?: (offsets: number) => void;
  readonly signal: AbortSignal;
};

/** Is it an id of a topic's letter? */
export function isTopicId(id: string): boolean {
  return /^\d{1,6}\/\d{1,18}$/.test(id);
}

/**
 * Hands over the letters of the dead-letter topic, done or not, some at a time, up to where the topic ends now.
 * @returns false when the signal ended it before the end.
 */
export function readTopicLetters(
  { connection, groupId, deadLetterTopic: topic }: Pick<KafkaSettings, "connection" | "groupId" | "deadLetterTopic">,
  { verdicts, ids, onStart, signal }: TopicTerms,
  handle: (letters: OpenedLetter[], offsets: number) => Promise<void>,
  log: Logger,
): Promise<boolean> {
  const byLetter = new Map(verdicts.map((verdict) => [`${verdict.letter} ${verdict.writtenAt}`, verdict]));
  const wanted = ids && new Set(ids);
  return readTopic(
    connection,
    {
      topic,
      groupPrefix: groupId,
      choose: (held) => (ids === undefined ? held : around(ids, held)),
      ...(onStart === undefined ? {} : { onStart }),
      signal,
      handle: (messages) => {
        const letters = messages.map((message) => {
          const id = `${message.partition}/${message.offset}`;
          return openMessage(id, message, byLetter.get(`${id} ${message.timestamp}`));
        });
        return handle(wanted === undefined ? letters : letters.filter(({ id }) => wanted.has(id)), messages.length);
      },
    },
    log,
  );
}

/** The parts of the spans that hold these ids. */
function around(ids: readonly string[], held: readonly Span[]): Span[] {
  return held.flatMap(({ partition, from, to }) => {
    const offsets = ids
      .map((id) => id.split("/"))
      .filter(([of]) => Number(of) === partition)
      .map(([, offset = "0"]) => BigInt(offset))
      .filter((offset) => offset >= from && offset < to)
      .sort((one, other) => (one < other ? -1 : 1));
    const [first, last] = [offsets.at(0), offsets.at(-1)];
    return first === undefined || last === undefined ? [] : [{ partition, from: first, to: last + 1n }];
  });
}

function openMessage(id: string, message: StreamMessage, verdict: Verdict | undefined): OpenedLetter {
  const payload = message.value ?? Buffer.alloc(0);
  const parsed = headersSchema.safeParse(message.headers);
  const headers = parsed.success ? parsed.data : undefined;
  const kept = { reason: headers?.["noisefloor-reason"] ?? "unknown", detail: headers?.["noisefloor-detail"] ?? "" };
  const { reason, detail } = verdict === undefined || verdict.isDone ? kept : verdict;
  return {
    id,
    source: "kafka",
    origin:
      headers === undefined
        ? ""
        : `${headers["noisefloor-topic"]}/${headers["noisefloor-partition"]}/${headers["noisefloor-offset"]}`,
    position: headers?.["noisefloor-index"] ?? 0,
    bytes: payload.length,
    keptAt: message.timestamp,
    judgedAt: verdict?.judgedAt,
    isDone: verdict?.isDone ?? false,
    reason,
    detail,
    payload,
    headers: message.headers,
    writtenAt: message.timestamp,
    secondTry: secondTryOf(message, payload, headers),
  };
}

function secondTryOf(
  letter: StreamMessage,
  payload: Buffer,
  headers: z.infer<typeof headersSchema> | undefined,
): SecondTry {
  if (headers === undefined) {
    return { kind: "impossible", why: "it carries none of Noisefloor's headers: somebody else put it into the topic" };
  }
  if (headers["noisefloor-reason"] === UNREADABLE) {
    return {
      kind: "impossible",
      why: "its batch could not be read: its sensor has to send it again, packed otherwise",
    };
  }
  const cutFrom = headers["noisefloor-cut-from"];
  if (cutFrom !== undefined) {
    return {
      kind: "impossible",
      why: `of its ${cutFrom} bytes only the first ${payload.length} were kept: its sensor has to send it again, in parts`,
    };
  }
  const first = headers["noisefloor-index"];
  const isWhole = first === 0 && WHOLE_MESSAGE_REASONS.has(headers["noisefloor-reason"]);
  const parts = isWhole ? splitMessage(payload) : [payload];
  if ("reason" in parts) return { kind: "refuse", rejection: parts };
  const place = {
    topic: headers["noisefloor-topic"],
    partition: headers["noisefloor-partition"],
    offset: headers["noisefloor-offset"],
    headers: letter.headers,
  };
  const records = parts.map((bytes, index) => ({ bytes, fallbackId: messageRecordId(place, first + index) }));
  // As the consumer judges: who may write to the topic is for the brokers to say.
  return { kind: "judge", records, right: "everything" };
}
