import { showInvisible } from "@noisefloor/domain/text/show-invisible.ts";

/** Markup from templates, with all values escaped. */
export type Html = { readonly markup: string };

/** Strings are escaped, markup is inserted unchanged, undefined is left out. */
type Value = string | number | Html | readonly Html[] | undefined;

/** A template tag: html`<p>${text}</p>`. Values are allowed between tags and in quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const markup = parts.map((part, index) => part + toMarkup(values[index])).join("");
  return { markup };
}

function toMarkup(value: Value): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escapeText(value);
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

/** Scanners choose many texts on these pages: none may become markup or look like another text. */
function escapeText(text: string): string {
  return showInvisible(text).replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? "");
}
