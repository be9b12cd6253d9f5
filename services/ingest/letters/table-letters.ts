import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readVerdicts } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import {
  type LetterPayload,
  readLetters,
  readLettersById,
  readPayloads,
  type StoredLetter,
} from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { idNamespaceOf, parseRight, type Sender } from "@noisefloor/domain/publishing.ts";
import { sizeBeforeCut } from "../dead-letter.ts";
import { requestRecordId } from "../record-id.ts";
import {
  cutShort,
  isMeant,
  judgedBy,
  type Letter,
  type LetterFilter,
  type OpenedLetter,
  type SecondTry,
} from "./letter.ts";

/** So many letters, or so many bytes of payloads, are in memory at once. */
const AT_ONCE = { items: 2_000, bytes: 8 * 1024 * 1024 };

/** A letter of the table, and as what it was kept. */
type JudgedLetter = { readonly letter: Letter; readonly kept: StoredLetter };

async function judged(client: ClickHouseClient, page: readonly StoredLetter[]): Promise<JudgedLetter[]> {
  const ids = page.map(({ id }) => id);
  const verdicts = new Map((await readVerdicts(client, "", ids)).map((verdict) => [verdict.letter, verdict]));
  return page.map((kept) => {
    const { publishRight: _right, keyId: _keyId, keySensorId: _keySensorId, ...rest } = kept;
    return { letter: judgedBy(verdicts.get(kept.id), rest), kept };
  });
}

/** All letters of the table, done or not, without their payloads, some at a time. */
export async function* readTableLetters(client: ClickHouseClient): AsyncGenerator<Letter[]> {
  for await (const page of readLetters(client)) yield (await judged(client, page)).map(({ letter }) => letter);
}

/**
 * The letters of the table that are meant, with their payloads, some at a time.
 * @param onRead hears how many letters were looked at since the last call, whether they are meant or not.
 */
export async function* openTableLetters(
  client: ClickHouseClient,
  filter: LetterFilter,
  onRead: (letters: number) => void = () => {},
): AsyncGenerator<OpenedLetter[]> {
  for await (const page of readLetters(client)) {
    yield* open(
      client,
      (await judged(client, page)).filter(({ letter }) => isMeant(letter, filter)),
    );
    onRead(page.length);
  }
}

/** The same for those with these ids. */
export async function* openTableLettersById(
  client: ClickHouseClient,
  ids: readonly string[],
): AsyncGenerator<OpenedLetter[]> {
  if (ids.length > 0) yield* open(client, await judged(client, await readLettersById(client, ids)));
}

async function* open(client: ClickHouseClient, letters: readonly JudgedLetter[]): AsyncGenerator<OpenedLetter[]> {
  for (const chunk of chunksOf(letters, ({ letter }) => letter.bytes, AT_ONCE)) {
    const payloads = await readPayloads(
      client,
      chunk.map(({ kept }) => kept),
    );
    yield chunk.flatMap((one) => {
      const found = payloads.get(one.letter.id);
      // Deleted by age since its page was read.
      return found === undefined ? [] : [openOne(one, found)];
    });
  }
}

function openOne({ letter, kept }: JudgedLetter, found: LetterPayload): OpenedLetter {
  return { ...letter, payload: found.payload, headers: {}, writtenAt: 0, secondTry: secondTryOf(kept, found) };
}

function secondTryOf(kept: StoredLetter, found: LetterPayload): SecondTry {
  const size = sizeBeforeCut(kept.detail, found.payload);
  if (size !== undefined) return cutShort(kept.source, size, found.payload.length);
  return kept.source === "http" ? tryRequestRecord(kept, found.payload) : tryFileRecord(found);
}

function tryRequestRecord(kept: StoredLetter, bytes: Buffer): SecondTry {
  const fallbackId = requestRecordId(kept.origin, kept.position - 1);
  const sender = senderOf(kept);
  const idNamespace = sender && idNamespaceOf(sender);
  return { kind: "judge", records: [{ bytes, fallbackId, idNamespace }], sender };
}

function senderOf({ publishRight, keyId, keySensorId }: StoredLetter): Sender | undefined {
  const right = parseRight(publishRight);
  return right && { right, keyId: keyId || undefined, sensorId: keySensorId || undefined };
}

/**
 * A file's record is judged as what was read out of it: its line alone tells neither its format nor by how much its
 * time was moved, and its id comes from both.
 */
function tryFileRecord({ payload: bytes, value }: LetterPayload): SecondTry {
  if (value === "") {
    const why = "no observation could be read out of its line, or none was noted: replay its file instead";
    return { kind: "impossible", why };
  }
  return {
    kind: "judge",
    records: [{ bytes, value: JSON.parse(value), fallbackId: "" }],
    sender: { right: "everything" },
  };
}
