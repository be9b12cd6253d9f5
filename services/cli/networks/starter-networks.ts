import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  hasNetworkHistory,
  type NetworkKind,
  type NetworkList,
  replaceNetworkLists,
} from "@noisefloor/clickhouse/networks/networks.ts";
import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { parse } from "yaml";
import { z } from "zod";
import { STARTER_NETWORKS_DIRECTORY } from "../paths.ts";
import { knownListSchema, readKnownLists } from "./known-lists.ts";

/**
 * When the starter lists were last checked: what answers say of their refresh. A stored list that is no younger is one
 * of them, as every import comes later.
 */
const CHECKED_AT = Date.UTC(2026, 10, 22);

const networkSchema = z.string().transform((text, context) => {
  const network = parseNetwork(text);
  if (typeof network !== "string") return network;
  context.addIssue(`${text}: ${network}`);
  return z.NEVER;
});

/**
 * A file of starter lists. A list says what its file's defaults do not; one that services.yaml or actors.yaml describes
 * says its networks alone.
 */
const starterFileSchema = z.strictObject({
  kind: z.enum(["service", "actor"]),
  defaults: knownListSchema.partial(),
  lists: z.record(z.string(), knownListSchema.partial().extend({ networks: z.array(networkSchema).min(1) })),
});

type StarterFile = z.infer<typeof starterFileSchema>;

let starterFiles: Promise<readonly StarterFile[]> | undefined;

/** The lists that a new store starts with. Their files are read once: they come with the program. */
export async function readStarterNetworks(kind: NetworkKind): Promise<NetworkList[]> {
  starterFiles ??= readStarterFiles();
  const [files, known] = await Promise.all([starterFiles, readKnownLists(kind)]);
  return files
    .filter((file) => file.kind === kind)
    .flatMap(({ defaults, lists }) =>
      Object.entries(lists).map(([listId, { networks, ...own }]) => {
        const facts = knownListSchema.parse(known.get(listId) ?? { ...defaults, ...own });
        const { organization: name, trust_level: trustLevel, ...described } = facts;
        return { listId, name, trustLevel, ...described, networks };
      }),
    );
}

async function readStarterFiles(): Promise<StarterFile[]> {
  const names = (await readdir(STARTER_NETWORKS_DIRECTORY)).filter((name) => name.endsWith(".yaml")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(STARTER_NETWORKS_DIRECTORY, name), "utf8")));
  return texts.map((text) => starterFileSchema.parse(parse(text)));
}

const KINDS = ["service", "actor"] as const;

/**
 * Adds the starter lists of each kind of which no list was ever stored. Later starts add none, as the user may have
 * removed them.
 * @returns how many it added.
 */
export async function addStarterNetworks(client: ClickHouseClient): Promise<number> {
  let added = 0;
  for (const kind of KINDS) {
    if (await hasNetworkHistory(client, kind)) continue;
    const lists = await readStarterNetworks(kind);
    await replaceNetworkLists(client, kind, lists, CHECKED_AT);
    added += lists.length;
  }
  return added;
}

/** Whether a stored list is a starter list: whatever the user imports under its id may replace it, however small. */
export const isStarter = ({ refreshedAt }: { readonly refreshedAt: number }): boolean => refreshedAt <= CHECKED_AT;
