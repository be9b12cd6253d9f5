/** `\x22`, `\"`, `\\` and `\n`, as nginx and Apache write what would break a line of their logs. */
const ESCAPE = /\\(?:x([\da-fA-F]{2})|([\\"tnrbv]))/g;
const LETTERS = new Map(Object.entries({ t: "\t", n: "\n", r: "\r", b: "\b", v: "\v" }));

/** The text that a web server has escaped. Escaped bytes are UTF-8, as far as they can be. */
export function unescapeText(text: string): string {
  if (!text.includes("\\")) return text;
  const pieces: Buffer[] = [];
  let end = 0;
  for (const match of text.matchAll(ESCAPE)) {
    const [whole, hex, letter = ""] = match;
    pieces.push(Buffer.from(text.slice(end, match.index)));
    pieces.push(hex === undefined ? Buffer.from(LETTERS.get(letter) ?? letter) : Buffer.from(hex, "hex"));
    end = match.index + whole.length;
  }
  return Buffer.concat([...pieces, Buffer.from(text.slice(end))]).toString();
}
