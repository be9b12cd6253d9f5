/** Turns a text as it was pasted into one in which addresses are written plainly. */
export function toPlainText(pasted: string): string {
  return RULES.reduce((text, [pattern, replace]) => text.replace(pattern, replace), pasted);
}

type Replace = (match: string, group?: string, second?: string) => string;

const QUAD = String.raw`\d{1,3}(?:\.\d{1,3}){3}`;
/** A full stop between two numbers, with brackets or a backslash so that no program makes a link of it. */
const DEFANGED_DOT = String.raw`(?:\\\.|[．。｡]|[ \t]{0,3}[[({<][ \t]{0,3}(?:\.|dot)[ \t]{0,3}[\])}>][ \t]{0,3}|\[\.|\.\])`;
const SPACED_DOT = String.raw`[ \t]{1,3}(?:\.|dot)[ \t]{1,3}`;
/** The port of an endpoint as tcpdump writes it: `1.2.3.4.22 > 5.6.7.8.ssh:`. */
const TCPDUMP_PORT = String.raw`\.(?:\d{1,5}|[a-z][\w-]*)`;

/** In this order: later patterns see what earlier ones made. */
const RULES: readonly (readonly [pattern: RegExp, replace: Replace])[] = [
  // Characters without a width: mail programs and chats put them into addresses, and between them.
  [/(?<=\d)[\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e\u2066-\u2069]+(?=\d)/g, () => " "],
  [/[\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e\u2066-\u2069]/g, () => ""],
  // URLs within URLs are percent-encoded, as in the query of a request.
  [/%([2-7][\da-f])/gi, (_, code = "") => String.fromCharCode(Number.parseInt(code, 16))],
  [new RegExp(`(?<=\\d)${DEFANGED_DOT}(?=\\d)`, "gi"), () => "."],
  // Only all four together: a sentence may end before a number.
  [
    new RegExp(`(?<![\\w.])\\d{1,3}(?:${SPACED_DOT}\\d{1,3}){3}(?![\\w.])`, "gi"),
    (quad) => quad.replace(/[ \t]*(?:\.|dot)[ \t]*/gi, "."),
  ],
  [/(?<![\w:.])::ffff:(?=\d+\.)/gi, () => ""],
  [new RegExp(`(?<![\\w.])(${QUAD})${TCPDUMP_PORT}(?= > )`, "g"), (_, quad = "") => quad],
  [new RegExp(`(?<= > )(${QUAD})${TCPDUMP_PORT}(?=:)`, "g"), (_, quad = "") => quad],
  [/^(\s*[\d.]+)[ \t]*\/[ \t]*(\d{1,3}\s*)$/, (_, address, length) => `${address}/${length}`],
];
