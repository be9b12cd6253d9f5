import { findField } from "@noisefloor/domain/query-language/fields.ts";
import { readSearch } from "@noisefloor/domain/search/read-search.ts";
import { addressPath, networkPath, pagePath, searchPath } from "../routing/paths.ts";
import { listPage } from "./list-link.ts";

/** Where a search leads, or why it leads nowhere. */
export type SearchResult =
  | {
      readonly path: string;
      /** Input that is too long for the page's URL: kept in the entry of the browser's history. */
      readonly state?: string;
    }
  | { readonly message: string };

/** A query of the search language begins with a condition on a field. */
function isQuery(text: string): boolean {
  const field = /^[\s(!-]*(?:NOT\s+)?([\w.]+):(?!\/\/)\S/i.exec(text)?.[1];
  return field !== undefined && !/[\r\n]/.test(text.trim()) && "kind" in findField(field);
}

/** @param text an address, several, a network, a CVE, a part of a tag's name or a query, as it was typed or pasted. */
export function parseSearch(text: string): SearchResult {
  if (isQuery(text)) return { path: searchPath(text.trim()) };
  const search = readSearch(text);
  switch (search.kind) {
    case "address":
      return { path: addressPath(search.ip) };
    case "network":
      return networkResult(search.address, search.length);
    case "list":
      return listPage(search.entries);
    case "cve":
      return { path: pagePath("/tags", { cve: search.cve }) };
    case "words":
      return { path: pagePath("/tags", { name: search.words }) };
    case "nothing":
      return { message: search.reason };
  }
}

/** The lengths that the API lists. */
const [SHORTEST, LONGEST] = [16, 32];

function networkResult(address: string, length: number): SearchResult {
  if (length >= SHORTEST) return { path: networkPath(address, String(length)) };
  return { message: `Only networks from /${SHORTEST} to /${LONGEST} are listed.` };
}
