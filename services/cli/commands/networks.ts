import { type NetworkKind, readNetworkLists, removeNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { STANDARD_INPUT } from "../framework/input.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import type { ReadNetworkList } from "../networks/network-list-file.ts";
import { type ImportOptions, NETWORK_COMMANDS, readLists } from "../networks/read-lists.ts";
import { type StoredLists, storeLists } from "../networks/store-lists.ts";
import { MISP_WARNINGLISTS, updateNetworks } from "../networks/update-networks.ts";
import { withStore, withStoreToRead } from "../store/store.ts";
import type { RejectedEntry } from "../tags/tag-file.ts";

const IMPORT_HELP = `
From a folder, import takes its .json files, and the list.json of each folder right below it if Noisefloor knows that
list as one of this kind. It skips all others and names them. It also skips a list that lost more than half of its
networks, as the download may be incomplete: --force imports it anyway. A list on standard input needs --id.`;

/** `noisefloor benign` and `noisefloor actors`: the same commands for two kinds of networks. */
export function defineNetworks(kind: NetworkKind): DefineCommand {
  return (lists, createContext) => {
    lists
      .command("import")
      .description("replace lists of networks from a MISP warninglist, or a folder of them")
      .argument("<path>", 'a file or a folder, or "-" for standard input')
      .option("--id <id>", "the id of the list, instead of its file's name")
      .option("--force", "also lists that shrank, or a file that is known as a list of another kind", false)
      .addHelpText("after", IMPORT_HELP)
      .action(async (path: string, options: ImportOptions & OutputOptions) =>
        runNetworksImport(kind, path, options, await createContext()),
      );
    lists
      .command("update")
      .description("download the MISP warninglists and import those that Noisefloor knows")
      .option(
        "--from <url or file>",
        'another archive (.tar.gz) of the same form; "-" is standard input',
        MISP_WARNINGLISTS,
      )
      .action(async ({ from, json }: { from: string; json: boolean }) =>
        runNetworksUpdate(kind, from, await createContext(), { json }),
      );
    lists
      .command("list")
      .description("list them")
      .action(async (options: OutputOptions) => runNetworksList(kind, options, await createContext()));
    lists
      .command("remove")
      .description("remove lists")
      .argument("<id...>", "as list shows them")
      .action(async (ids: string[], options: OutputOptions) =>
        runNetworksRemove(kind, ids, await createContext(), options),
      );
  };
}

/** `noisefloor benign import` and `noisefloor actors import`: network lists from a file or a folder. */
export async function runNetworksImport(
  kind: NetworkKind,
  path: string,
  options: ImportOptions & Partial<OutputOptions>,
  context: CommandContext,
): Promise<void> {
  const { lists, rejected, skipped } = await readLists(kind, path, options, context);
  const files = skipped.map(({ file, reason }) => ({ entry: file, reason }));
  // Before the store is opened, which may fail.
  if (!options.json) printLeftOut({ rejected, skipped: files }, context);
  await withStore(context, async (client) => {
    const stored = await storeLists(client, kind, lists, { force: options.force });
    if (options.json) context.print(JSON.stringify(importToJson(stored, { rejected, skipped: files })));
    else {
      printLeftOut({ rejected: [], skipped: keptOf(stored) }, context);
      const counts = { rejected: rejected.length, skipped: files.length + stored.kept.length };
      if (stored.imported.length > 0) for (const line of formatImport(stored, counts)) context.print(line);
    }
    const unreadableIds = skipped.filter(({ isUnreadable }) => isUnreadable).map(({ listId }) => listId);
    assertImported(path, stored.imported.length, [
      ...unreadableIds.filter((listId) => stored.stored.has(listId)),
      ...stored.kept.filter(({ isStored }) => isStored).map(({ listId }) => listId),
    ]);
  });
}

/** What an import left out: entries of lists, and whole files or lists. */
type LeftOut = { readonly rejected: readonly RejectedEntry[]; readonly skipped: readonly RejectedEntry[] };

const keptOf = ({ kept }: StoredLists): RejectedEntry[] =>
  kept.map(({ listId, reason }) => ({ entry: listId, reason }));

function printLeftOut({ rejected, skipped }: LeftOut, { print }: CommandContext): void {
  for (const { entry, reason } of rejected) print(`rejected ${printable(entry)}: ${reason}`);
  for (const { entry, reason } of skipped) print(`skipped ${printable(entry)}: ${reason}`);
}

function importToJson(stored: StoredLists, { rejected, skipped }: LeftOut) {
  const lists = stored.imported.map(({ list, ipv6 }) => {
    const { listId, name, category, trustLevel, networks } = list;
    return { id: listId, name, category, trust: trustLevel, networks: networks.length, ipv6 };
  });
  return { lists, rejected, skipped: [...skipped, ...keptOf(stored)], ranges: stored.ranges };
}

type Counts = { readonly rejected: number; readonly skipped: number };

function formatImport({ imported, ranges }: StoredLists, { rejected, skipped }: Counts): string[] {
  const sum = (count: (read: ReadNetworkList) => number) => imported.reduce((total, read) => total + count(read), 0);
  return [
    `lists     ${imported.length}`,
    `networks  ${sum(({ list }) => list.networks.length)}`,
    `ipv6      ${sum(({ ipv6 }) => ipv6)} (not used)`,
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
      `${path === STANDARD_INPUT ? "standard input" : path} holds no list of networks to import, as a .json file or as list.json in a folder: nothing was changed`,
    );
  }
}

/** `noisefloor benign update` and `noisefloor actors update`. A download that is broken changes nothing. */
export function runNetworksUpdate(
  kind: NetworkKind,
  from: string,
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  return withStore(context, async (client) => {
    const source = from === STANDARD_INPUT ? context.stdin : from;
    const updated = await updateNetworks(client, { kind, from: source, now: Date.now() }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new UserError(`nothing was changed: ${reason}`);
    });
    const rejected = updated.imported.flatMap((list) => list.rejected);
    if (json) return context.print(JSON.stringify(importToJson(updated, { rejected, skipped: [] })));
    printLeftOut({ rejected: [], skipped: keptOf(updated) }, context);
    const counts = { rejected: rejected.length, skipped: updated.kept.length };
    for (const line of formatImport(updated, counts)) context.print(line);
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
    const missingIds = ids.filter((id) => !stored.has(id));
    if (missingIds.length > 0) {
      throw new UserError(`there is no list ${missingIds.join(", ")}: see "noisefloor ${NETWORK_COMMANDS[kind]} list"`);
    }
    const { ranges } = await removeNetworkLists(client, kind, ids);
    if (json) return context.print(JSON.stringify({ removed: [...new Set(ids)], ranges }));
    context.print(`removed   ${new Set(ids).size}`);
    context.print(`ranges    ${ranges} without overlap, over all lists`);
  });
}
