import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { addressPath, pagePath } from "../routing/paths.ts";

/** Where a search leads, or why it leads nowhere. */
export type SearchResult = { readonly path: string } | { readonly message: string };

const CVE = /^CVE-\d{4}-\d{4,}$/i;
const NETWORK = /^(\d[\d.]*)\s*\/\s*(\d{1,3})$/;

/** @param text an address, a network, a CVE or a part of a tag's name. */
export function parseSearch(text: string): SearchResult {
  const input = text.trim();
  if (input === "") return { message: "Enter an address, a tag's name or a CVE." };
  if (isIpv4(input)) return { path: addressPath(input) };
  const [, address, length] = NETWORK.exec(input) ?? [];
  if (address !== undefined) return isIpv4(address) && length === "32" ? { path: addressPath(address) } : NETWORK_ASKED;
  if (input.includes(":") && /^[\da-f:.]+(?:\/\d+)?$/i.test(input))
    return { message: "Only IPv4 addresses are known." };
  if (/^[\d.]+$/.test(input)) return { message: "This is no IPv4 address: it has four numbers from 0 to 255." };
  return {
    path: CVE.test(input) ? pagePath("/tags", { cve: input.toUpperCase() }) : pagePath("/tags", { name: input }),
  };
}

const NETWORK_ASKED = {
  message:
    "The API has no list of a network's addresses: enter a single one, or send up to 10,000 at once to POST /v3/ip.",
};
