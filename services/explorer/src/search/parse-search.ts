import { readSearch } from "@noisefloor/domain/pasted-text/read-search.ts";
import { findField } from "@noisefloor/domain/query-language/fields.ts";
import { addressPath, asnPath, countryPath, networkPath, pagePath, searchPath } from "../routing/paths.ts";
import { listPage } from "./list-link.ts";

/** Where a search leads, or why it leads nowhere. */
export type SearchResult =
  | {
      readonly path: string;
      /** Input that is too long for the page's URL: kept in the entry of the browser's history. */
      readonly state?: string;
    }
  | { readonly message: string };

const isField = (name: string) => "kind" in findField(name);

/** A query of the search language begins with a condition on a field; a log line may have numbers after a space. */
function isQuery(text: string): boolean {
  const field = /^[\s(!-]*(?:NOT\s+)?([\w.]+):(?:\s+[\p{L}"']|(?!\/\/)\S)/iu.exec(text)?.[1];
  return field !== undefined && !/[\r\n]/.test(text.trim()) && isField(field);
}

/**
 * @param text an address, several, a network, a CVE, a number of a network, a country, a fingerprint, words or a query,
 * as it was typed or pasted.
 */
export function parseSearch(text: string): SearchResult {
  if (isQuery(text)) return { path: searchPath(text.trim()) };
  const search = readSearch(text);
  switch (search.kind) {
    case "address":
      return { path: addressPath(search.ip) };
    case "network":
      return { path: networkResult(search.address, search.length) };
    case "list":
      return listPage(search.entries);
    case "cve":
      return { path: pagePath("/tags", { cve: search.cve }) };
    case "words":
      return { path: nameResult(search.words) };
    case "nothing":
      return { message: search.reason };
  }
}

/** The lengths that the API lists. */
const SHORTEST_LISTED = 16;

function networkResult(address: string, length: number): string {
  return length >= SHORTEST_LISTED ? networkPath(address, String(length)) : searchPath(`ip:${address}/${length}`);
}

/** What names and numbers look like, with where they lead. */
const PATTERNS: readonly (readonly [pattern: RegExp, pathOf: (text: string) => string])[] = [
  [/^ASN?\s*(\d{1,10})$/i, (text) => asnPath(`AS${Number(text.replace(/\D+/, ""))}`)],
  // JA3 and HASSH are both MD5.
  [/^[\da-f]{32}$/i, (text) => searchPath(`ja3:${text} OR hassh:${text}`)],
  [/^[tqd]\d\w[di]\d{4}\w{2}_[\da-f]{12}_[\da-f]{12}$/i, (text) => searchPath(`ja4:${text}`)],
];

function nameResult(text: string): string {
  const pathOf = PATTERNS.find(([pattern]) => pattern.test(text))?.[1];
  if (pathOf !== undefined) return pathOf(text);
  const country = countryNamed(text);
  return country === undefined ? searchPath(queryOf(text)) : countryPath(country);
}

const names = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

/** The code of a country by its English name or by itself. */
function countryNamed(text: string): string | undefined {
  const isCountry = (code: string) => /^[A-Z]{2}$/.test(code) && names.of(code) !== undefined;
  const code = text.toUpperCase();
  if (isCountry(code)) return code;
  const name = text.toLowerCase();
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
  const found = codes.find((one) => names.of(one)?.toLowerCase() === name);
  // Today's code of a country that once had another.
  return found === undefined ? undefined : new Intl.Locale(`und-${found}`).region;
}

/** Words without a field stand in names of tags, actors and organisations; what is no word is quoted. */
function queryOf(text: string): string {
  const words = text.split(/\s+/);
  const hasField = (word: string) => {
    const field = /^[(!-]*([\w.]+):\S/.exec(word)?.[1];
    return field !== undefined && isField(field);
  };
  if (words.some(hasField)) return text;
  const isPlain = words.every(
    (word) => /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(word) && !/^(?:AND|OR|NOT|TO)$/i.test(word),
  );
  return isPlain ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}
