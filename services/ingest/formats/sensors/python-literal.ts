import { type Fields, isFields } from "../fields.ts";

/** A text or bytes in either quotes, a bracket or separator, or a word like `None` or `8080`. */
const TOKEN = /\s*(?:[bu]?('(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*")|([{}[\](),:])|([^\s{}[\](),:'"]+))/gy;
const MAX_DEPTH = 32;

/** Reads what Python prints for a dict, with lists and tuples as lists; undefined if the text is not one. */
export function readPythonDict(text: string): Fields | undefined {
  const tokens = text.matchAll(TOKEN);
  let end = 0;
  const next = () => {
    const match = tokens.next().value;
    end = match === undefined ? end : match.index + match[0].length;
    return { string: match?.[1], mark: match?.[2], word: match?.[3] };
  };
  const readItems = (close: string, depth: number): unknown => {
    const list: unknown[] = [];
    const fields: [string, unknown][] = [];
    for (let token = next(); token.mark !== close; ) {
      const item = readValue(token, depth);
      if (item === MALFORMED) return MALFORMED;
      token = next();
      if (close === "}" && token.mark === ":") {
        const value = readValue(next(), depth);
        if (value === MALFORMED) return MALFORMED;
        fields.push([String(item), value]);
        token = next();
      } else list.push(item);
      if (token.mark === ",") token = next();
      else if (token.mark !== close) return MALFORMED;
    }
    return close === "}" && list.length === 0 ? Object.fromEntries(fields) : list;
  };
  const readValue = ({ string, mark, word }: ReturnType<typeof next>, depth: number): unknown => {
    if (string !== undefined) return unquote(string);
    if (word !== undefined) return readWord(word);
    const close = mark === undefined ? undefined : CLOSING.get(mark);
    return close === undefined || depth === MAX_DEPTH ? MALFORMED : readItems(close, depth + 1);
  };
  const value = readValue(next(), 0);
  return isFields(value) && text.slice(end).trim() === "" ? value : undefined;
}

const MALFORMED = Symbol("malformed");
const CLOSING = new Map(Object.entries({ "{": "}", "[": "]", "(": ")" }));

const ESCAPE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|([\s\S]))/gi;
const LETTERS = new Map(Object.entries({ n: "\n", r: "\r", t: "\t" }));

function unquote(string: string): string {
  return string.slice(1, -1).replace(ESCAPE, (_escape, byte, short, long, letter) => {
    const code = Number.parseInt(byte ?? short ?? long ?? "", 16);
    if (!Number.isNaN(code)) return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
    return LETTERS.get(letter) ?? letter;
  });
}

function readWord(word: string): unknown {
  if (word === "None") return null;
  if (word === "True" || word === "False") return word === "True";
  return /^-?\d+(?:\.\d+)?$/.test(word) ? Number(word) : MALFORMED;
}
