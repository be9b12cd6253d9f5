import type { Pattern, Wildcard } from "./query.ts";

/**
 * Whether a pattern matches a whole text in lower case. Only the last `*` so far is tried again with more characters:
 * the time is at most the product of both lengths.
 */
export function matchesPattern(pattern: Pattern, text: string): boolean {
  const signs = pattern.flatMap((part): (string | Wildcard)[] => (typeof part === "string" ? [...part] : [part]));
  const characters = [...text];
  let [sign, at] = [0, 0];
  let [afterStar, tookUpTo] = [-1, 0];
  while (at < characters.length) {
    const one = signs[sign];
    if (typeof one === "object" && one.wildcard === "*") {
      sign++;
      [afterStar, tookUpTo] = [sign, at];
    } else if (one !== undefined && (typeof one === "object" || one === characters[at])) {
      sign++;
      at++;
    } else if (afterStar >= 0) {
      tookUpTo++;
      [sign, at] = [afterStar, tookUpTo];
    } else return false;
  }
  return signs.slice(sign).every((one) => typeof one === "object" && one.wildcard === "*");
}
