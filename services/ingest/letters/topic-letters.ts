import type { Verdict } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import type { RejectionReason } from "@noisefloor/domain/observation.ts";
import type { StreamMessage } from "@noisefloor/kafka/port.ts";
import { readTopic, type Span } from "@noisefloor/kafka/topic-reader.ts";
import type { Logger } from "pino";
import { z } from "zod";
import { LETTER_HEADERS } from "../dead-letter.ts";
import { splitMessage } from "../decode.ts";
import { givenIdNamespace, messageRecordId } from "../record-id.ts";
import type { KafkaSettings } from "../service.ts";
import { cutShort, judgedBy, type KeptLetter, type OpenedLetter, type SecondTry, UNKNOWN_REASON } from "./letter.ts";

/** What `deadLettersTo` writes beside each payload. */
const headersSchema = z
  .object({
    [LETTER_HEADERS.reason]: z.string(),
    [LETTER_HEADERS.detail]: z.string(),
    [LETTER_HEADERS.topic]: z.string(),
    [LETTER_HEADERS.partition]: z.coerce.number().int(),
    [LETTER_HEADERS.offset]: z.string(),
    [LETTER_HEADERS.index]: z.coerce.number().int(),
    [LETTER_HEADERS.cutFrom]: z.coerce.number().int().optional(),
  })
  .transform((headers) => ({
    reason: headers[LETTER_HEADERS.reason],
    detail: headers[LETTER_HEADERS.detail],
    place: {
      topic: headers[LETTER_HEADERS.topic],
      partition: headers[LETTER_HEADERS.partition],
      offset: headers[LETTER_HEADERS.offset],
    },
    index: headers[LETTER_HEADERS.index],
    cutFrom: headers[LETTER_HEADERS.cutFrom],
  }));
type Headers = z.output<typeof headersSchema>;

/** Reasons for which a whole message may have been kept, because it could not be taken apart. */
const WHOLE_MESSAGE_REASONS = new Set(["not-json", "too-many-observations"]);

/** The reason for which a letter may be a batch of messages that nobody could take apart. */
const UNREADABLE: RejectionReason = "unreadable-batch";

export type TopicTerms = {
  /** Asks what retries said of letters before. */
  readonly readVerdicts: (ids: readonly string[]) => Promise<readonly Verdict[]>;
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
  { readVerdicts, ids, onStart, signal }: TopicTerms,
  handle: (letters: OpenedLetter[], offsets: number) => Promise<void>,
  log: Logger,
): Promise<boolean> {
  const wanted = ids && new Set(ids);
  return readTopic(
    connection,
    {
      topic,
      groupPrefix: groupId,
      choose: (held) => (ids === undefined ? held : around(ids, held)),
      ...(onStart === undefined ? {} : { onStart }),
      signal,
      handle: async (messages) => {
        const meant = messages.filter((message) => wanted === undefined || wanted.has(idOf(message)));
        const verdicts = await readVerdicts(meant.map(idOf));
        const byLetter = new Map(verdicts.map((verdict) => [`${verdict.letter} ${verdict.writtenAt}`, verdict]));
        const letters = meant.map((message) =>
          openMessage(message, byLetter.get(`${idOf(message)} ${message.timestamp}`)),
        );
        await handle(letters, messages.length);
      },
    },
    log,
  );
}

const idOf = ({ partition, offset }: StreamMessage) => `${partition}/${offset}`;

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

function openMessage(message: StreamMessage, verdict: Verdict | undefined): OpenedLetter {
  const payload = message.value ?? Buffer.alloc(0);
  const headers = headersSchema.safeParse(message.headers).data;
  const kept: KeptLetter = {
    id: idOf(message),
    source: "kafka",
    origin: headers === undefined ? "" : Object.values(headers.place).join("/"),
    position: headers?.index ?? 0,
    bytes: payload.length,
    keptAt: message.timestamp,
    reason: headers?.reason ?? UNKNOWN_REASON,
    detail: headers?.detail ?? "",
  };
  return {
    ...judgedBy(verdict, kept),
    payload,
    headers: message.headers,
    writtenAt: message.timestamp,
    secondTry: secondTryOf(message, payload, headers),
  };
}

function secondTryOf(letter: StreamMessage, payload: Buffer, headers: Headers | undefined): SecondTry {
  if (headers === undefined) {
    return { kind: "impossible", why: "it carries none of Noisefloor's headers: somebody else put it into the topic" };
  }
  const { reason, place, index: first, cutFrom } = headers;
  if (reason === UNREADABLE) {
    return {
      kind: "impossible",
      why: "its batch could not be read: its sensor has to send it again, packed otherwise",
    };
  }
  if (cutFrom !== undefined) return cutShort("kafka", cutFrom, payload.length);
  const isWhole = first === 0 && WHOLE_MESSAGE_REASONS.has(reason);
  const parts = isWhole ? splitMessage(payload) : [payload];
  if ("reason" in parts) return { kind: "refuse", rejection: parts };
  const from = { ...place, headers: letter.headers };
  const idNamespace = givenIdNamespace(letter);
  const records = parts.map((bytes, index) => ({
    bytes,
    fallbackId: messageRecordId(from, first + index),
    idNamespace,
  }));
  // As the consumer judges: who may write to the topic is for the brokers to say.
  return { kind: "judge", records, sender: { right: "everything" } };
}
