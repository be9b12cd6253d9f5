/**
 * How a text is seen: `normal` is URL-decoded and in lower case, `cased` only decoded, `raw` as it came but in lower
 * case, `raw-cased` as it came.
 */
export const TEXT_FORMS = ["normal", "cased", "raw", "raw-cased"] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const NOT_ASCII = 0x80;
const ESCAPE = /%[0-9a-f]{2}/i;

/** @param isDecoded whether the field's normal form is URL-decoded. */
export function toForm(text: string, form: TextForm, isDecoded: boolean): string {
  const decoded = isDecoded && (form === "normal" || form === "cased") ? decodeTwice(text) : text;
  return form === "normal" || form === "raw" ? foldCase(decoded) : decoded;
}

/** Lower case; ſ (U+017F), which regular expressions take for an s, becomes one. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.includes("ſ") ? lower.replaceAll("ſ", "s") : lower;
}

/** Attackers encode twice to get past filters that decode once. */
function decodeTwice(text: string): string {
  if (!text.includes("%")) return text;
  const once = decode(text);
  return once.includes("%") ? decode(once) : once;
}

/** Unlike decodeURIComponent, it takes any bytes: those that are not UTF-8 become U+FFFD. */
function decode(text: string): string {
  if (!ESCAPE.test(text)) return text;
  return text.replace(ESCAPES, decodeRun);
}

/** Most are single characters of ASCII, which need no buffer. */
function decodeRun(run: string): string {
  const first = run.length === 3 ? Number.parseInt(run.slice(1), 16) : NOT_ASCII;
  if (first < NOT_ASCII) return String.fromCharCode(first);
  return Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8");
}
