import { readSearch } from "@noisefloor/domain/search/read-search.ts";
import { addressPath, networkPath, pagePath } from "../routing/paths.ts";
import { listPage } from "./list-link.ts";

/** Where a search leads, or why it leads nowhere. */
export type SearchResult =
  | {
      readonly path: string;
      /** Input that is too long for the page's URL: kept in the entry of the browser's history. */
      readonly state?: string;
    }
  | { readonly message: string };

/** @param text an address, several, a network, a CVE or a part of a tag's name, as it was typed or pasted. */
export function parseSearch(text: string): SearchResult {
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
