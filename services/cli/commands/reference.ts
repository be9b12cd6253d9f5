import { readFile } from "node:fs/promises";
import { type NetworkKind, replaceNetworkLists } from "@noisefloor/clickhouse/tables/networks.ts";
import { formatDate } from "@noisefloor/domain/window.ts";
import { progressBar } from "../progress.ts";
import { importTags } from "../reference/import-tags.ts";
import { readKnownLists } from "../reference/known-lists.ts";
import { findListFiles, type ReadNetworkList, readNetworkList } from "../reference/network-list-file.ts";
import { type RefusedEntry, readTagFile } from "../reference/tag-file.ts";
import { closingAfter, openStore } from "../store.ts";
import { type CommandContext, UserError } from "./command.ts";

/** `noisefloor tags import`. */
export async function runTagsImport(file: string, context: CommandContext): Promise<void> {
  const { settings, log, print } = context;
  const { tags, refused } = await readTagFileOf(file);
  const store = await openStore(context, "lengthen");
  await closingAfter(store, async () => {
    const result = await importTags(store.client, tags, Date.now());
    const all = [...refused, ...result.refused];
    printRefused(all, print);
    print(`added     ${result.added}`);
    print(`changed   ${result.changed}`);
    print(`unchanged ${result.unchanged}`);
    print(`refused   ${all.length}`);
  });
}

async function readTagFileOf(file: string) {
  try {
    return readTagFile(await readFile(file, "utf8"), formatDate(Date.now()));
  } catch (error) {
    throw new UserError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `noisefloor benign import` and `noisefloor actors import`: network lists from a file or a folder. */
export async function runNetworksImport(kind: NetworkKind, path: string, context: CommandContext): Promise<void> {
  const { settings, log, print } = context;
  const { lists, refused } = await readLists(kind, path, settings.logLevel !== "silent");
  printRefused(refused, print);
  if (lists.length === 0) throw new UserError(`${path} holds no list of networks: nothing was imported`);
  const store = await openStore(context, "lengthen");
  await closingAfter(store, async () => {
    const { ranges } = await replaceNetworkLists(
      store.client,
      kind,
      lists.map(({ list }) => list),
      Date.now(),
    );
    print(`lists     ${lists.length}`);
    print(`networks  ${lists.reduce((sum, { list }) => sum + list.networks.length, 0)}`);
    print(`ipv6      ${lists.reduce((sum, { ipv6 }) => sum + ipv6, 0)} (not used)`);
    print(`refused   ${refused.length}`);
    print(`ranges    ${ranges} without overlap, over all lists`);
  });
}

async function readLists(kind: NetworkKind, path: string, isVerbose: boolean) {
  const files = await findListFiles(path).catch((error: unknown) => {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const knownLists = await readKnownLists(kind);
  const progress = progressBar("Reading lists", files.length, isVerbose);
  const lists: ReadNetworkList[] = [];
  const refused: RefusedEntry[] = [];
  for (const file of files) {
    try {
      const read = await readNetworkList(file, knownLists);
      lists.push(read);
      refused.push(...read.refused);
    } catch (error) {
      refused.push({ entry: file, reason: error instanceof Error ? error.message : String(error) });
    }
    progress.advance(1);
  }
  progress.end();
  return { lists, refused };
}

function printRefused(refused: readonly RefusedEntry[], print: (line?: string) => void): void {
  for (const { entry, reason } of refused) print(`refused ${entry}: ${reason}`);
}
