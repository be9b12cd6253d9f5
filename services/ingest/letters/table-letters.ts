import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import {
  type LetterPayload,
  readLetters,
  readLettersById,
  readPayloads,
  type StoredLetter,
} from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { parseRight } from "@noisefloor/domain/publishing.ts";
import { requestRecordId } from "../record-id.ts";
import { isMeant, type Letter, type LetterFilter, type OpenedLetter, type SecondTry } from "./letter.ts";

/** So many letters, or so many bytes of payloads, are in memory at once. */
const CHUNK_LETTERS = 2_000;
const CHUNK_BYTES = 8 * 1024 * 1024;

export function toLetter({ judgedAt, publishRight: _right, ...letter }: StoredLetter): Letter {
  return { ...letter, judgedAt: judgedAt === 0 ? undefined : judgedAt };
}

/** The letters of the table that are meant, with their payloads, some at a time. */
export async function* openTableLetters(
  client: ClickHouseClient,
  filter: LetterFilter,
): AsyncGenerator<OpenedLetter[]> {
  for await (const page of readLetters(client)) {
    yield* open(
      client,
      page.filter((letter) => isMeant(toLetter(letter), filter)),
    );
  }
}

/** The same for those with these ids. */
export async function* openTableLettersById(
  client: ClickHouseClient,
  ids: readonly string[],
): AsyncGenerator<OpenedLetter[]> {
  if (ids.length > 0) yield* open(client, await readLettersById(client, ids));
}

async function* open(client: ClickHouseClient, letters: readonly StoredLetter[]): AsyncGenerator<OpenedLetter[]> {
  for (const chunk of chunksOf(letters)) {
    const payloads = await readPayloads(client, chunk);
    yield chunk.flatMap((letter) => {
      const found = payloads.get(letter.id);
      // Deleted by age since its page was read.
      return found === undefined ? [] : [openOne(letter, found)];
    });
  }
}

function* chunksOf(letters: readonly StoredLetter[]): Generator<StoredLetter[]> {
  let chunk: StoredLetter[] = [];
  let bytes = 0;
  for (const letter of letters) {
    if (chunk.length >= CHUNK_LETTERS || (chunk.length > 0 && bytes + letter.bytes > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(letter);
    bytes += letter.bytes;
  }
  if (chunk.length > 0) yield chunk;
}

function openOne(letter: StoredLetter, found: LetterPayload): OpenedLetter {
  return {
    ...toLetter(letter),
    payload: found.payload,
    headers: {},
    writtenAt: 0,
    secondTry: letter.source === "http" ? tryRequestRecord(letter, found.payload) : tryFileRecord(found),
  };
}

function tryRequestRecord({ origin, position, publishRight }: StoredLetter, bytes: Buffer): SecondTry {
  const fallbackId = requestRecordId(origin, position - 1);
  return { kind: "judge", records: [{ bytes, fallbackId }], right: parseRight(publishRight) };
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
  return { kind: "judge", records: [{ bytes, value: JSON.parse(value), fallbackId: "" }], right: "everything" };
}
