/** Markup made of our own templates, with every value in it escaped. */
export type Html = { readonly markup: string };

/** Texts are escaped; markup is put in as it is; undefined is nothing. */
type Value = string | number | Html | readonly Html[] | undefined;

/** A template of markup: html`<p>${text}</p>`. Values may stand between tags and in quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const markup = parts.map((part, index) => part + toMarkup(values[index])).join("");
  return { markup };
}

function toMarkup(value: Value): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escaped(value);
  if (typeof value === "number") return String(value);
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/**
 * Characters that show as nothing, or turn around or break what stands beside them: controls, formats (which include
 * the overrides of the writing direction), lone surrogates, line and paragraph separators.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whoever scans chooses what many texts here say: none may become markup or look like another one. */
function escaped(text: string): string {
  return text
    .replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? "");
}
