import { cut, showInvisible } from "@noisefloor/domain/text/show-invisible.ts";

/** Of text that attackers chose, in a message. */
export const MAX_SUMMARY = 500;
export const MAX_TITLE = 120;

/**
 * What attackers wrote, as one line of a message for people: with control characters shown, cut, and so that no program
 * that shows it makes a link of it: `http[:]//evil[.]example`.
 */
export function plainLine(text: string, characters: number): string {
  return cut(showInvisible(text), characters)
    .replaceAll("://", "[:]//")
    .replace(/(?<=[^\s/])\.(?=\p{L}{2})/gu, "[.]");
}
