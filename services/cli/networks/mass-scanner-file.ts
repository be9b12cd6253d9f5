import { readFile } from "node:fs/promises";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { type Ipv4Network, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { parse } from "yaml";
import { z } from "zod";
import { OPERATOR_DOMAINS_FILE } from "../paths.ts";
import type { RejectedEntry } from "../tags/tag-file.ts";
import type { KnownLists } from "./known-lists.ts";
import { type ReadNetworkList, WIDEST_PREFIX } from "./network-list-file.ts";

/** Below the lists that operators publish themselves: addresses may have changed hands since they were seen. */
const PRIORITY = 50;

type Operator = { readonly networks: Ipv4Network[]; readonly domain: string };

/**
 * Reads the text of a file of mass scanners in the form of maltrail's: `address # operator or its host name` on each
 * line, or a network instead of an address. Each operator becomes a list of its own, with the id `fileId:operator`.
 * Lines that name no operator are rejected: without one there is no reason to call a scan harmless.
 * @throws Error when no line has the form, or when the kind is not that of scan operators.
 */
export async function parseMassScanners(
  kind: NetworkKind,
  fileId: string,
  text: string,
  known: KnownLists,
): Promise<readonly ReadNetworkList[]> {
  if (kind !== "actor") throw new Error("it is a list for noisefloor actors import");
  const ids = z.record(z.string(), z.string()).parse(parse(await readFile(OPERATOR_DOMAINS_FILE, "utf8")));
  const idsByDomain = new Map(Object.entries(ids));
  const operators = new Map<string, Operator>();
  const rejected: RejectedEntry[] = [];
  for (const line of text.split("\n")) {
    const [, address, comment = ""] = /^\s*(\d[\d./]*)\s*(?:#(.*))?$/.exec(line) ?? [];
    if (address === undefined) continue;
    const network = parseNetwork(address);
    const reject = (reason: string) => rejected.push({ entry: `${fileId}: ${line.trim()}`, reason });
    const operator = operatorOf(comment);
    if (typeof network === "string") reject(network);
    else if (network.length < WIDEST_PREFIX) reject(`wider than /${WIDEST_PREFIX}`);
    else if (operator === undefined) reject("it names no operator");
    else {
      const slug = operator.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
      const operatorNetworks = operators.get(slug) ?? { networks: [], domain: operator };
      operatorNetworks.networks.push(network);
      operators.set(slug, operatorNetworks);
    }
  }
  if (operators.size === 0) throw new Error("it has no line like: 192.175.48.6 # scan.example.org");
  return [...operators].map(([slug, { networks, domain }], index) => {
    const facts = known.get(idsByDomain.get(domain.toLowerCase()) ?? "");
    return {
      list: {
        listId: `${fileId}:${slug}`,
        networks,
        name: facts?.organization ?? domain,
        category: facts?.category ?? "unknown",
        description: facts?.description ?? `Scans from hosts of ${domain}.`,
        explanation: facts?.explanation ?? "",
        reference: facts?.reference ?? "",
        trustLevel: facts?.trust_level ?? "3",
        priority: PRIORITY,
      },
      // Each rejection once, whatever list it would have belonged to.
      rejected: index === 0 ? rejected : [],
      ipv6: 0,
    };
  });
}

/** Second-level names under which a country's registry gives out domains. */
const SHARED_SUFFIX = /\.(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}$/;

/** The operator that a comment names: the domain of a host name, or the words themselves. An address is no name. */
function operatorOf(comment: string): string | undefined {
  const text = comment
    .replace(/https?:\/\/\S+/g, "")
    .replace(/^[\s(#]+|[\s).]+$/g, "")
    .slice(0, 128);
  if (text === "" || /^[\d.:/-]+$/.test(text)) return undefined;
  if (!/^[\w-]+(?:\.[\w-]+)+$/.test(text)) return text;
  const labels = text.toLowerCase().split(".");
  return labels.slice(SHARED_SUFFIX.test(`.${labels.join(".")}`) ? -3 : -2).join(".");
}
