import type { Verdict } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import type { Rejection } from "@noisefloor/domain/observation.ts";
import type { Sender } from "@noisefloor/domain/publishing.ts";
import type { IncomingRecord } from "../pipeline.ts";

/** What a dead letter's record came over. */
export const LETTER_SOURCES = ["http", "file", "kafka"] as const;
export type LetterSource = (typeof LETTER_SOURCES)[number];

/** Where letters are kept. */
export type LetterHome = "table" | "topic";

export function homeOf(source: LetterSource): LetterHome {
  return source === "kafka" ? "topic" : "table";
}

/** The reason of a message that somebody else put into the topic. */
export const UNKNOWN_REASON = "unknown";

/** A record that was refused, without its payload. */
export type Letter = {
  /** Of the table: 16 hex digits; of the topic: `partition/offset`. Never another one's, and never changes. */
  readonly id: string;
  readonly source: LetterSource;
  /** The request, file or message that the record came in. */
  readonly origin: string;
  /** Its place there: from 1 in a request or file, from 0 in a message. */
  readonly position: number;
  readonly bytes: number;
  /** Milliseconds since 1970 UTC. */
  readonly keptAt: number;
  /** When it was tried again last; undefined when it never was. */
  readonly judgedAt: number | undefined;
  /** Whether a retry has stored what it holds. */
  readonly isDone: boolean;
  /** The newest one. */
  readonly reason: string;
  readonly detail: string;
};

/** A letter as it was kept, whatever retries said of it since. */
export type KeptLetter = Omit<Letter, "judgedAt" | "isDone">;

/** How a letter stands after its last retry. When it was refused anew since then, that is what counts. */
export function judgedBy(verdict: Verdict | undefined, kept: KeptLetter): Letter {
  if (verdict === undefined) return { ...kept, judgedAt: undefined, isDone: false };
  const { judgedAt, isDone, reason, detail } = verdict;
  if (judgedAt < kept.keptAt) return { ...kept, judgedAt, isDone: false };
  return { ...kept, judgedAt, isDone, ...(isDone ? {} : { reason, detail }) };
}

/** How a letter is tried again. */
export type SecondTry =
  | {
      readonly kind: "judge";
      /** Named as at their first intake: a letter stored twice is the same observation. */
      readonly records: readonly IncomingRecord[];
      /** Who sent it; undefined when that was not noted. */
      readonly sender: Sender | undefined;
    }
  /** It still cannot be taken apart. */
  | { readonly kind: "refuse"; readonly rejection: Rejection }
  | { readonly kind: "impossible"; readonly why: string };

/** What to do about a letter of which only the beginning was kept. */
export function cutShort(source: LetterSource, bytes: number, kept: number): SecondTry {
  const instead = source === "file" ? "replay its file instead" : "its sensor has to send it again, in parts";
  return { kind: "impossible", why: `of its ${bytes} bytes only the first ${kept} were kept: ${instead}` };
}

/** A letter with everything that is kept of it. */
export type OpenedLetter = Letter & {
  readonly payload: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** When a topic's letter was written there; 0 for those of the table. */
  readonly writtenAt: number;
  readonly secondTry: SecondTry;
};

/** Which letters are meant; what is left out means any. */
export type LetterFilter = {
  readonly reason?: string | undefined;
  readonly source?: LetterSource | undefined;
  /** Kept at this moment or later. */
  readonly since?: number | undefined;
  readonly includeDone: boolean;
};

export function isMeant(letter: Letter, { reason, source, since, includeDone }: LetterFilter): boolean {
  return (
    (reason === undefined || letter.reason === reason) &&
    (source === undefined || letter.source === source) &&
    (since === undefined || letter.keptAt >= since) &&
    (includeDone || !letter.isDone)
  );
}

/** Whether any of the letters that are meant may be kept there. */
export function isHomeMeant({ source }: LetterFilter, home: LetterHome): boolean {
  return source === undefined || homeOf(source) === home;
}
