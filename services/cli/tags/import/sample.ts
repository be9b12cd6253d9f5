/**
 * A text that a regular expression should match, made of the first of its alternatives. It need not match, so the
 * caller has to try it.
 */
export function sampleOf(source: string): string | undefined {
  const reader = { source, at: 0 };
  const text = readAlternatives(reader);
  return reader.at === source.length ? text : undefined;
}

type Reader = { readonly source: string; at: number };

function readAlternatives(reader: Reader): string | undefined {
  const first = readSequence(reader);
  while (reader.source[reader.at] === "|") {
    reader.at++;
    readSequence(reader);
  }
  return first;
}

function readSequence(reader: Reader): string | undefined {
  let text: string | undefined = "";
  while (reader.at < reader.source.length && !"|)".includes(reader.source[reader.at] ?? "")) {
    const atom = readAtom(reader);
    const times = readTimes(reader);
    text = text === undefined || atom === undefined ? undefined : text + atom.repeat(times);
  }
  return text;
}

function readAtom(reader: Reader): string | undefined {
  const { source, at } = reader;
  const character = source[at] ?? "";
  if (character === "(") {
    reader.at += /^\(\?[a-zA-Z]*:/.exec(source.slice(at))?.[0].length ?? 1;
    const inner = readAlternatives(reader);
    reader.at++;
    return inner;
  }
  if (character === "[") {
    const [whole = "["] = /^\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]/.exec(source.slice(at)) ?? [];
    reader.at += whole.length;
    return memberOf(whole);
  }
  if (character === "\\") {
    const [whole = "\\"] = /^\\(?:x[0-9a-f]{2}|x\{[0-9a-f]+\}|.)/i.exec(source.slice(at)) ?? [];
    reader.at += whole.length;
    return /^\\[bB]$/.test(whole) ? "" : memberOf(whole);
  }
  reader.at++;
  if (character === "^" || character === "$") return "";
  return character === "." ? "x" : character;
}

/** A printable character that a class or an escape stands for; letters and digits before the rest. */
function memberOf(pattern: string): string | undefined {
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
  const preferred = [..."xa0", ...printable.filter((character) => !/\s/.test(character)), " "];
  try {
    const regex = new RegExp(`^${pattern}$`);
    return preferred.find((character) => regex.test(character));
  } catch {
    return undefined;
  }
}

function readTimes(reader: Reader): number {
  const [whole = "", least] = /^(?:[*?+]|\{(\d+)(?:,\d*)?\})\??/.exec(reader.source.slice(reader.at)) ?? [];
  reader.at += whole.length;
  if (least !== undefined) return Math.min(Number(least), 64);
  return whole.startsWith("*") || whole.startsWith("?") ? 0 : 1;
}
