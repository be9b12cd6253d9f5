import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip } from "node:zlib";

/** The text of a file piece by piece, unpacked if it is gzip. */
async function* readText(path: string): AsyncGenerator<string> {
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  await file.close();
  const raw = createReadStream(path);
  const decoder = new StringDecoder("utf8");
  for await (const chunk of buffer[0] === 0x1f && buffer[1] === 0x8b ? raw.pipe(createGunzip()) : raw) {
    if (Buffer.isBuffer(chunk)) yield decoder.write(chunk);
  }
}

/**
 * The records of a file: each outermost JSON object, whether the file has one a line, an array or several lines an
 * object; and each line of text between them. What is no JSON in spite of its brackets is left out.
 */
export async function* readRaw(path: string): AsyncGenerator<unknown> {
  let rest = "";
  for await (const text of readText(path)) {
    rest += text;
    const { records, used } = take(rest);
    yield* records;
    rest = rest.slice(used);
  }
  yield* take(`${rest}\n`).records;
}

/** Between records are line ends, and in an array commas. */
const RECORD_START = /[^\s,[\]]/g;

/** @returns the whole records at the beginning of a text, and how many characters they take. */
function take(text: string): { readonly records: readonly unknown[]; readonly used: number } {
  const records: unknown[] = [];
  let used = 0;
  for (let from = 0; from < text.length; from = used) {
    RECORD_START.lastIndex = from;
    const start = RECORD_START.exec(text)?.index;
    if (start === undefined) return { records, used: text.length };
    const isObject = text[start] === "{";
    const end = isObject ? endOfObject(text, start) : text.indexOf("\n", start);
    if (end < 0) return { records, used };
    const record = text.slice(start, isObject ? end + 1 : end);
    records.push(isObject ? parse(record) : record);
    used = end + 1;
  }
  return { records, used };
}

const CHARACTERS = /["{}]/g;
const STRING_END = /(?:[^"\\]|\\.)*"/gsy;

function endOfObject(text: string, start: number): number {
  let depth = 0;
  CHARACTERS.lastIndex = start;
  for (let match = CHARACTERS.exec(text); match !== null; match = CHARACTERS.exec(text)) {
    if (match[0] === '"') {
      STRING_END.lastIndex = CHARACTERS.lastIndex;
      if (!STRING_END.test(text)) return -1;
      CHARACTERS.lastIndex = STRING_END.lastIndex;
    } else {
      depth += match[0] === "{" ? 1 : -1;
      if (depth === 0) return match.index;
    }
  }
  return -1;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
