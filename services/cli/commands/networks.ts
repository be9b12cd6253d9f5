import { dirname, relative } from "node:path";
import { type NetworkKind, readNetworkLists, removeNetworkLists } from "@noisefloor/clickhouse/tables/networks.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import { progressBar } from "../framework/progress.ts";
import { type KnownLists, readKnownLists } from "../reference/known-lists.ts";
import { readMassScanners } from "../reference/mass-scanner-file.ts";
import { findListFiles, listIdOf, type ReadNetworkList, readNetworkList } from "../reference/network-list-file.ts";
import { storeLists } from "../reference/store-lists.ts";
import { MISP_WARNINGLISTS, updateNetworks } from "../reference/update-networks.ts";
import { withStore, withStoreToRead } from "../store.ts";

const COMMANDS: Record<NetworkKind, string> = { service: "benign", actor: "actors" };
const OTHER: Record<NetworkKind, NetworkKind> = { service: "actor", actor: "service" };

const IMPORT_HELP = `
From a folder, import takes its .json files, and the list.json of each folder right below it if Noisefloor knows that
list as one of this kind. It skips all others and names them. It also skips a list that lost more than half of its
networks, as the download may be incomplete: --force imports it anyway.`;

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
      .command("update")
      .description("download the MISP warninglists and import those that Noisefloor knows")
      .option("--from <url or file>", "another archive (.tar.gz) of the same form", MISP_WARNINGLISTS)
      .action(async (options: { from: string }) => runNetworksUpdate(kind, options.from, await createContext()));
    lists
      .command("list")
      .description("list them")
      .option("--json", "as JSON", false)
      .action(async (options: OutputOptions) => runNetworksList(kind, options, await createContext()));
    lists
      .command("remove")
      .description("remove lists")
      .argument("<id...>", "as list shows them")
      .option("--json", "as JSON", false)
      .action(async (ids: string[], options: OutputOptions) =>
        runNetworksRemove(kind, ids, await createContext(), options),
      );
  };
}

type SkippedFile = {
  readonly file: string;
  readonly reason: string;
  /** Its download may be incomplete. */
  readonly isUnreadable: boolean;
};

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
  const { lists, rejected, skipped } = await readLists(kind, path, options, settings.logLevel !== "silent");
  for (const { entry, reason } of rejected) print(`rejected ${printable(entry)}: ${reason}`);
  for (const { file, reason } of skipped) print(`skipped ${printable(file)}: ${reason}`);
  await withStore(context, async (client) => {
    const { imported, kept, ranges, stored } = await storeLists(client, kind, lists, { force: options.force });
    for (const { listId, reason } of kept) print(`skipped ${listId}: ${reason}`);
    if (imported.length > 0) {
      const counts = { rejected: rejected.length, skipped: skipped.length + kept.length, ranges };
      for (const line of formatImport(imported, counts)) print(line);
    }
    const unreadableIds = skipped.filter(({ isUnreadable }) => isUnreadable).map(({ file }) => listIdOf(file));
    assertImported(path, imported.length, [
      ...unreadableIds.filter((listId) => stored.has(listId)),
      ...kept.filter(({ isStored }) => isStored).map(({ listId }) => listId),
    ]);
  });
}

type Counts = { readonly rejected: number; readonly skipped: number; readonly ranges: number };

function formatImport(imported: readonly ReadNetworkList[], { rejected, skipped, ranges }: Counts): string[] {
  return [
    `lists     ${imported.length}`,
    `networks  ${imported.reduce((sum, { list }) => sum + list.networks.length, 0)}`,
    `ipv6      ${imported.reduce((sum, { ipv6 }) => sum + ipv6, 0)} (not used)`,
    `rejected  ${rejected}`,
    `skipped   ${skipped}`,
    `ranges    ${ranges} without overlap, over all lists`,
  ];
}

/** @param unchanged stored lists that the files hold, but that were not imported. */
function assertImported(path: string, imported: number, unchanged: readonly string[]): void {
  if (unchanged.length > 0) {
    throw new UserError(
      `left as they were: ${unchanged.join(", ")}. A download may be incomplete; pass --force if a list did shrink`,
    );
  }
  if (imported === 0) {
    throw new UserError(
      `${path} holds no list of networks to import, as a .json file or as list.json in a folder: nothing was changed`,
    );
  }
}

async function readLists(kind: NetworkKind, path: string, { force }: ImportOptions, showsProgress: boolean) {
  const files = await findListFiles(path).catch((error: unknown) => {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const [known, others] = [await readKnownLists(kind), await readKnownLists(OTHER[kind])];
  const progress = progressBar("Reading lists", files.length, showsProgress);
  const lists: ReadNetworkList[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of files) {
    try {
      if (file.endsWith(".txt")) {
        lists.push(...(await readMassScanners(kind, file, known)));
        continue;
      }
      const read = await readNetworkList(file, known);
      const isInSubfolder = file !== path && relative(path, dirname(file)) !== "";
      const isForced = force && file === path;
      const reason = isForced ? undefined : findMismatch(kind, read.list.listId, { known, others, isInSubfolder });
      if (reason === undefined) lists.push(read);
      else skipped.push({ file, reason, isUnreadable: false });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      skipped.push({ file, reason, isUnreadable: true });
    } finally {
      progress.advance(1);
    }
  }
  progress.end();
  return { lists, rejected: lists.flatMap(({ rejected }) => rejected), skipped };
}

/** Why a list is not of this kind; undefined when it may be. */
function findMismatch(
  kind: NetworkKind,
  listId: string,
  { known, others, isInSubfolder }: { known: KnownLists; others: KnownLists; isInSubfolder: boolean },
): string | undefined {
  if (others.has(listId)) return `it is a list for noisefloor ${COMMANDS[OTHER[kind]]} import`;
  // The folders of a published collection hold lists of all kinds; only our table says which networks are harmless.
  if (isInSubfolder && !known.has(listId))
    return "no list of this kind by that name is known: import it by its own path";
  return undefined;
}

/** `noisefloor benign update` and `noisefloor actors update`. A download that is broken changes nothing. */
export function runNetworksUpdate(kind: NetworkKind, from: string, context: CommandContext): Promise<void> {
  return withStore(context, async (client) => {
    const updated = await updateNetworks(client, { kind, from, now: Date.now() }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new UserError(`nothing was changed: ${reason}`);
    });
    const { imported, kept, ranges } = updated;
    for (const { listId, reason } of kept) context.print(`skipped ${listId}: ${reason}`);
    const rejected = imported.reduce((sum, list) => sum + list.rejected.length, 0);
    for (const line of formatImport(imported, { rejected, skipped: kept.length, ranges })) context.print(line);
  });
}

/** `noisefloor benign list` and `noisefloor actors list`. */
export function runNetworksList(kind: NetworkKind, options: OutputOptions, context: CommandContext): Promise<void> {
  return withStoreToRead(context, async (client) => {
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
export function runNetworksRemove(
  kind: NetworkKind,
  ids: readonly string[],
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  return withStore(context, async (client) => {
    const stored = new Set((await readNetworkLists(client, kind)).map(({ listId }) => listId));
    const missing = ids.filter((id) => !stored.has(id));
    if (missing.length > 0) {
      throw new UserError(`there is no list ${missing.join(", ")}: see "noisefloor ${COMMANDS[kind]} list"`);
    }
    const { ranges } = await removeNetworkLists(client, kind, ids);
    if (json) return context.print(JSON.stringify({ removed: [...new Set(ids)], ranges }));
    context.print(`removed   ${new Set(ids).size}`);
    context.print(`ranges    ${ranges} without overlap, over all lists`);
  });
}
