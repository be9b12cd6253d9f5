/** Decodes `%41` one level deep, and `+` as a space where no other separates words, as in a query. */
export function decodePercent(text: string): string {
  const spaced = text.includes("+") && !/\s/.test(text) ? text.replaceAll("+", " ") : text;
  return spaced.includes("%") ? spaced.replace(/(?:%[\da-f]{2})+/gi, decodeBytes) : spaced;
}

const decodeBytes = (encoded: string) => Buffer.from(encoded.replaceAll("%", ""), "hex").toString();

const BASE64 = /^[\w+/-]{8,}={0,2}$/;

/** The text of Base64, of UTF-16 too, as PowerShell takes it; undefined for anything else. */
export function decodeBase64(text: string): string | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString(bytes[1] === 0 && bytes[3] === 0 ? "utf16le" : "utf8");
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the references of XML: `&amp;`, `&#x26;`. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:(amp|lt|gt|quot|apos)|#(x[\da-f]{1,5}|\d{1,6}));/gi, (whole, name?: string, code = "") => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
    const point = /^x/i.test(code) ? Number.parseInt(code.slice(1), 16) : Number(code);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "", f: "", a: "", e: "", v: "" };

const ESCAPED = /\\(?:x([\da-f]{1,2})|u([\da-f]{4})|0?([0-3]?[0-7]{1,2})|(.))/gis;

/** Decodes `\n`, `\x41`, `\u0041` and `\101`; any other escaped character is itself. */
export function decodeEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(ESCAPED, (_whole, byte?: string, unit?: string, octal?: string, character = "") => {
    const hex = byte ?? unit;
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return octal === undefined ? (ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(octal, 8));
  });
}

/**
 * The lists of texts in JSON: `{"Cmd":["sh","-c","ls"]}` is `[["Cmd"],["sh","-c","ls"]]`. Also of a body that was cut.
 * A text that is not in a list stands alone.
 */
export function textsInJson(body: string): string[][] {
  const lists: string[][] = [];
  let end = -1;
  for (const { 0: whole, 1: text = "", index } of body.matchAll(/"((?:[^"\\]|\\.)*)(?:"|\\?$)/gs)) {
    const last = lists.at(-1);
    if (last !== undefined && /^\s*,\s*$/.test(body.slice(end, index))) last.push(decodeEscapes(text));
    else lists.push([decodeEscapes(text)]);
    end = index + whole.length;
  }
  return lists;
}
