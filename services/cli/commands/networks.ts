import { dirname, relative } from "node:path";
import {
  type NetworkKind,
  readNetworkLists,
  removeNetworkLists,
  replaceNetworkLists,
} from "@noisefloor/clickhouse/tables/networks.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import { progressBar } from "../framework/progress.ts";
import { type KnownLists, readKnownLists } from "../reference/known-lists.ts";
import { findListFiles, listIdOf, type ReadNetworkList, readNetworkList } from "../reference/network-list-file.ts";
import type { RefusedEntry } from "../reference/tag-file.ts";
import { withStore, withStoreAsItIs } from "../store.ts";

const COMMANDS: Record<NetworkKind, string> = { service: "benign", actor: "actors" };
const OTHER: Record<NetworkKind, NetworkKind> = { service: "actor", actor: "service" };

const IMPORT_HELP = `
From a folder, import takes its .json files, and the list.json of each folder right below it if Noisefloor knows that
list as one of this kind; it skips all others and names them. A list that lost more than half of its networks is skipped,
as its download may have broken off: --force imports it all the same.`;

/** `noisefloor benign` and `noisefloor actors`: the same commands for two kinds of networks. */
export function defineNetworks(kind: NetworkKind): DefineCommand {
  return (lists, createContext) => {
    lists
      .command("import")
      .description("replace lists of networks from a MISP warninglist, or a folder of them")
      .argument("<path>")
      .option("--force", "also lists that shrank, or a file that is known as a list of another kind", false)
      .addHelpText("after", IMPORT_HELP)
      .action(async (path: string, options: ImportOptions) =>
        runNetworksImport(kind, path, options, await createContext()),
      );
    lists
      .command("list")
      .description("list them")
      .option("--json", "as JSON", false)
      .action(async (options: OutputOptions) => runNetworksList(kind, options, await createContext()));
    lists
      .command("remove")
      .description("remove lists")
      .argument("<id...>", "as list shows them")
      .action(async (ids: string[]) => runNetworksRemove(kind, ids, await createContext()));
  };
}

/** A list that was left out, and why. */
type Skipped = { readonly file: string; readonly reason: string; readonly isBroken: boolean };

export type ImportOptions = {
  /** Also lists that lost most of their networks, and a file that is known as a list of the other kind. */
  readonly force: boolean;
};

/** `noisefloor benign import` and `noisefloor actors import`: network lists from a file or a folder. */
export async function runNetworksImport(
  kind: NetworkKind,
  path: string,
  options: ImportOptions,
  context: CommandContext,
): Promise<void> {
  const { settings, print } = context;
  const { lists, refused, skipped } = await readLists(kind, path, options, settings.logLevel !== "silent");
  for (const { entry, reason } of refused) print(`refused ${printable(entry)}: ${reason}`);
  for (const { file, reason } of skipped) print(`skipped ${printable(file)}: ${reason}`);
  await withStore(context, async (client) => {
    const stored = new Map((await readNetworkLists(client, kind)).map((list) => [list.listId, list.networks]));
    // What was cut off in the middle of a list is no list at all.
    const broken = skipped.filter(({ isBroken }) => isBroken).map(({ file }) => listIdOf(file));
    const kept = broken.filter((listId) => stored.has(listId));
    const taken = lists.filter((read) => {
      const { listId } = read.list;
      const before = stored.get(listId) ?? 0;
      const reason = options.force ? undefined : describeShrinking(read, before);
      if (reason === undefined) return true;
      print(`skipped ${listId}: ${reason}`);
      if (before > 0) kept.push(listId);
      return false;
    });
    if (taken.length > 0) {
      const { ranges } = await replaceNetworkLists(
        client,
        kind,
        taken.map(({ list }) => list),
        Date.now(),
      );
      print(`lists     ${taken.length}`);
      print(`networks  ${taken.reduce((sum, { list }) => sum + list.networks.length, 0)}`);
      print(`ipv6      ${taken.reduce((sum, { ipv6 }) => sum + ipv6, 0)} (not used)`);
      print(`refused   ${refused.length}`);
      print(`skipped   ${skipped.length + lists.length - taken.length}`);
      print(`ranges    ${ranges} without overlap, over all lists`);
    }
    if (kept.length > 0) {
      throw new UserError(
        `left as they were: ${kept.join(", ")}. A download may have broken off; pass --force if a list did shrink`,
      );
    }
    if (taken.length === 0) {
      throw new UserError(
        `${path} holds no list of networks to import, as a .json file or as list.json in a folder: nothing was changed`,
      );
    }
  });
}

/** Why a list is not to take the place of the stored one: a download that broke off must not take most of it away. */
function describeShrinking({ list, ipv6, refused }: ReadNetworkList, before: number): string | undefined {
  const { length } = list.networks;
  if (length > 0 && length >= before / 2) return undefined;
  const held = length > 0 ? `it holds ${length} networks` : describeEmptiness(ipv6, refused.length);
  return before === 0 ? held : `${held}, where ${before} networks are stored`;
}

function describeEmptiness(ipv6: number, refused: number): string {
  if (ipv6 > 0) return `its ${ipv6} networks are IPv6, which is not used`;
  return refused > 0 ? `all of its ${refused} entries are bad` : "it is empty";
}

async function readLists(kind: NetworkKind, path: string, { force }: ImportOptions, isVerbose: boolean) {
  const files = await findListFiles(path).catch((error: unknown) => {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const [known, others] = [await readKnownLists(kind), await readKnownLists(OTHER[kind])];
  const progress = progressBar("Reading lists", files.length, isVerbose);
  const lists: ReadNetworkList[] = [];
  const refused: RefusedEntry[] = [];
  const skipped: Skipped[] = [];
  for (const file of files) {
    try {
      const read = await readNetworkList(file, known);
      const isDeeper = file !== path && relative(path, dirname(file)) !== "";
      const reason = force && file === path ? undefined : whyNot(kind, read.list, { known, others, isDeeper });
      if (reason !== undefined) skipped.push({ file, reason, isBroken: false });
      else {
        lists.push(read);
        refused.push(...read.refused);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      skipped.push({ file, reason, isBroken: true });
    }
    progress.advance(1);
  }
  progress.end();
  return { lists, refused, skipped };
}

/** Why a list is not imported as one of this kind; undefined when it is. */
function whyNot(
  kind: NetworkKind,
  { listId }: ReadNetworkList["list"],
  { known, others, isDeeper }: { known: KnownLists; others: KnownLists; isDeeper: boolean },
): string | undefined {
  if (others.has(listId)) return `it is a list for noisefloor ${COMMANDS[OTHER[kind]]} import`;
  // A collection of lists has all kinds of them in its folders: whose addresses are harmless only our table says.
  if (isDeeper && !known.has(listId)) return "no list of this kind by that name is known: import it by its own path";
  return undefined;
}

/** `noisefloor benign list` and `noisefloor actors list`. */
export function runNetworksList(kind: NetworkKind, options: OutputOptions, context: CommandContext): Promise<void> {
  return withStoreAsItIs(context, async (client) => {
    const lists = await readNetworkLists(client, kind);
    const rows = lists.map(({ listId, name, category, trustLevel, networks, refreshedAt }) => ({
      id: listId,
      name,
      category,
      trust: trustLevel,
      networks,
      refreshed: formatTimestamp(refreshedAt),
    }));
    show(rows, options, context);
  });
}

/** `noisefloor benign remove` and `noisefloor actors remove`. */
export function runNetworksRemove(kind: NetworkKind, ids: readonly string[], context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const stored = new Set((await readNetworkLists(client, kind)).map(({ listId }) => listId));
    const missing = ids.filter((id) => !stored.has(id));
    if (missing.length > 0) {
      throw new UserError(`there is no list ${missing.join(", ")}: see "noisefloor ${COMMANDS[kind]} list"`);
    }
    const { ranges } = await removeNetworkLists(client, kind, ids);
    context.print(`removed   ${new Set(ids).size}`);
    context.print(`ranges    ${ranges} without overlap, over all lists`);
  });
}
