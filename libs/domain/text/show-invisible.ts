/**
 * Characters that are invisible or change the text around them: control and format characters (which include overrides
 * of the writing direction), lone surrogates, line and paragraph separators.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Scanners choose many texts that people read: none may look like another text. */
export function showInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Shortens a text to `characters` characters and marks the cut with an ellipsis. */
export function cut(text: string, characters: number): string {
  // By code points, so as not to split surrogate pairs.
  const points = Array.from(text.slice(0, 2 * characters));
  const isWhole = text.length <= 2 * characters && points.length <= characters;
  return isWhole ? text : `${points.slice(0, characters).join("")}…`;
}
