import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { parse } from "yaml";
import { z } from "zod";
import { KNOWN_LISTS_DIRECTORY } from "../paths.ts";

/** Facts about a published network list that its own file lacks. The YAML files say what each member means. */
export const knownListSchema = z.strictObject({
  organization: z.string().min(1),
  category: z.string().min(1),
  trust_level: z.enum(["1", "2", "3"]),
  priority: z.int(),
  description: z.string(),
  explanation: z.string(),
  reference: z.string(),
});
export type KnownList = z.infer<typeof knownListSchema>;

/** By list id. */
export type KnownLists = ReadonlyMap<string, KnownList>;

const FILES: Record<NetworkKind, string> = { service: "services.yaml", actor: "actors.yaml" };

const known: Partial<Record<NetworkKind, Promise<KnownLists>>> = {};

/** Our table of the published lists of a kind. Read once: it comes with the program. */
export function readKnownLists(kind: NetworkKind): Promise<KnownLists> {
  known[kind] ??= readKnownFile(kind);
  return known[kind];
}

async function readKnownFile(kind: NetworkKind): Promise<KnownLists> {
  const text = await readFile(join(KNOWN_LISTS_DIRECTORY, FILES[kind]), "utf8");
  return new Map(Object.entries(z.record(z.string(), knownListSchema).parse(parse(text))));
}
