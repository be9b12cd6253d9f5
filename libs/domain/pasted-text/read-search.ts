import { type Entry, findAddresses, NOT_LOOKED_UP } from "./find-addresses.ts";

/** What a person searches for. */
export type Search =
  | { readonly kind: "address"; readonly ip: string }
  | { readonly kind: "network"; readonly address: string; readonly length: number }
  /** Several entries, of which some may be no addresses. */
  | { readonly kind: "list"; readonly entries: readonly Entry[] }
  | { readonly kind: "cve"; readonly cve: string }
  /** A name, a number of a network, a fingerprint, or words of names. */
  | { readonly kind: "words"; readonly words: string }
  /** What cannot be searched for, and why, in a sentence. */
  | { readonly kind: "nothing"; readonly reason: string };

const CVE = /(?<![\w-])CVE-\d{4}-\d{4,}(?![\w-])/gi;
/** Longer texts are no names. */
const MAX_NAME_CHARACTERS = 100;

/** @param text as it was typed or pasted: see {@link findAddresses}. */
export function readSearch(text: string): Search {
  const entries = findAddresses(text);
  const [first] = entries;
  if (first === undefined) return readName(text);
  if (entries.length > 1) return { kind: "list", entries };
  switch (first.kind) {
    case "address":
    case "not-routable":
      return { kind: "address", ip: first.text };
    case "network": {
      const [address = "", length] = first.text.split("/");
      return { kind: "network", address, length: Number(length) };
    }
    default:
      return nothing(`This is ${REASONS[first.kind]}.`);
  }
}

const REASONS = { ipv6: `an IPv6 address: ${NOT_LOOKED_UP.ipv6}`, malformed: NOT_LOOKED_UP.malformed } as const;

function readName(text: string): Search {
  const name = text.trim().replace(/^["'“”‘’`]+|["'“”‘’`,;.\s]+$/g, "");
  if (name === "") return nothing("Enter an address, a network, a name, a CVE or a query.");
  if (/^[\d./\s]+$/.test(name)) return nothing(`This is ${NOT_LOOKED_UP.malformed}.`);
  const cves = new Set(
    name
      .replace(/[\u2010-\u2015\u2212]/g, "-")
      .toUpperCase()
      .match(CVE),
  );
  const [cve] = cves;
  if (cves.size > 1) return nothing("Search for one CVE at a time.");
  if (cve !== undefined) return { kind: "cve", cve };
  const isName = name.length <= MAX_NAME_CHARACTERS && !/[\r\n]|:\/\//.test(name);
  return isName
    ? { kind: "words", words: name }
    : nothing("No IPv4 address is in this text. Names of hosts are not known.");
}

const nothing = (reason: string): Search => ({ kind: "nothing", reason });
