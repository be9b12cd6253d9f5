import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { addressPath, networkPath, pagePath } from "../routing/paths.ts";

/** Where a search leads, or why it leads nowhere. */
export type SearchResult = { readonly path: string } | { readonly message: string };

const CVE = /^CVE-\d{4}-\d{4,}$/i;
const NETWORK = /^(\d[\d.]*)\s*\/\s*(\d{1,3})$/;

/** @param text an address, a network, a CVE or a part of a tag's name. */
export function parseSearch(text: string): SearchResult {
  const input = text.trim();
  if (input === "") return { message: "Enter an address, a network, a tag's name or a CVE." };
  if (isIpv4(input)) return { path: addressPath(input) };
  const [, address, length] = NETWORK.exec(input) ?? [];
  if (address !== undefined && length !== undefined && isIpv4(address)) return networkResult(address, Number(length));
  if (input.includes(":") && /^[\da-f:.]+(?:\/\d+)?$/i.test(input))
    return { message: "Only IPv4 addresses are known." };
  if (/^[\d./\s]+$/.test(input)) return { message: "This is no IPv4 address: it has four numbers from 0 to 255." };
  return {
    path: CVE.test(input) ? pagePath("/tags", { cve: input.toUpperCase() }) : pagePath("/tags", { name: input }),
  };
}

/** The lengths that the API lists. */
const [SHORTEST, LONGEST] = [16, 32];

function networkResult(address: string, length: number): SearchResult {
  if (length === LONGEST) return { path: addressPath(address) };
  if (length >= SHORTEST && length < LONGEST) return { path: networkPath(address, String(length)) };
  return { message: `Only networks from /${SHORTEST} to /${LONGEST} are listed.` };
}
