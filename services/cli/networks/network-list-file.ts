import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { NetworkList } from "@noisefloor/clickhouse/networks/networks.ts";
import { type Ipv4Network, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import type { RejectedEntry } from "../tags/tag-file.ts";
import type { KnownLists } from "./known-lists.ts";

/** The shape of a MISP warninglist. */
const warninglistSchema = z.object({
  name: z.string(),
  description: z.string().default(""),
  type: z.string().default("cidr"),
  list: z.array(z.string()),
});

/** A wider network is a mistake that would mark a large part of the Internet as harmless. */
export const WIDEST_PREFIX = 8;

export type ReadNetworkList = {
  readonly list: NetworkList;
  readonly rejected: readonly RejectedEntry[];
  /** IPv6 networks, which Noisefloor does not use. */
  readonly ipv6: number;
};

/**
 * The list files at a path: the file itself, or a folder's JSON files and the `list.json` of each folder right below,
 * which is how collections are published.
 */
export async function findListFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const found: string[] = [];
  for (const name of (await readdir(path)).sort()) {
    const file = join(path, name);
    if (!(await stat(file)).isDirectory()) {
      if (name.endsWith(".json")) found.push(file);
    } else if ((await readdir(file)).includes("list.json")) found.push(join(file, "list.json"));
  }
  return found;
}

/** A list's id: its file's name, or its folder's name if the file is `list.json`. */
export function listIdOf(file: string): string {
  const name = basename(file).replace(/\.(?:json|txt)$/, "");
  return name === "list" ? basename(dirname(file)) : name;
}

/**
 * Reads the text of a published list of networks and adds what our table of known lists says about it.
 * @throws Error when it is no such list.
 */
export function parseNetworkList(listId: string, text: string, knownLists: KnownLists): ReadNetworkList {
  const parsed = warninglistSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error("the file is no warninglist: it takes {name, list: [...]}");
  const { name, description, type, list } = parsed.data;
  if (type !== "cidr" && type !== "ip") throw new Error(`the list holds entries of type "${type}", not networks`);
  const rejected: RejectedEntry[] = [];
  const networks: Ipv4Network[] = [];
  let ipv6 = 0;
  for (const entry of list.map((item) => item.trim())) {
    if (ipaddr.IPv6.isValid(entry) || ipaddr.IPv6.isValidCIDR(entry)) {
      ipv6++;
      continue;
    }
    const network = parseNetwork(entry);
    if (typeof network === "string") rejected.push({ entry: `${listId}: ${entry}`, reason: network });
    else if (network.length < WIDEST_PREFIX) rejected.push({ entry: `${listId}: ${entry}`, reason: "wider than /8" });
    else networks.push(network);
  }
  const knownList = knownLists.get(listId);
  return {
    rejected,
    ipv6,
    list: {
      listId,
      networks,
      name: knownList?.organization ?? (name.replace(/^list of known /i, "").trim() || listId),
      category: knownList?.category ?? "unknown",
      description: knownList?.description ?? description,
      explanation: knownList?.explanation ?? "",
      reference: knownList?.reference ?? "",
      trustLevel: knownList?.trust_level ?? "3",
      priority: knownList?.priority ?? 0,
    },
  };
}
