import { dirname, relative } from "node:path";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { readInput, STANDARD_INPUT } from "../framework/input.ts";
import { progressBar } from "../framework/progress.ts";
import type { RejectedEntry } from "../tags/tag-file.ts";
import { type KnownLists, readKnownLists } from "./known-lists.ts";
import { parseMassScanners } from "./mass-scanner-file.ts";
import { findListFiles, listIdOf, parseNetworkList, type ReadNetworkList } from "./network-list-file.ts";

/** The commands for each kind of networks. */
export const NETWORK_COMMANDS: Record<NetworkKind, string> = { service: "benign", actor: "actors" };
const OTHER: Record<NetworkKind, NetworkKind> = { service: "actor", actor: "service" };

export type ImportOptions = {
  /** Also lists that lost most of their networks, and a file that is known as a list of the other kind. */
  readonly force: boolean;
  /** The id of the list instead of its file's name, which standard input has none. */
  readonly id?: string | undefined;
};

export type SkippedFile = {
  readonly file: string;
  readonly listId: string;
  readonly reason: string;
  /** Its download may be incomplete. */
  readonly isUnreadable: boolean;
};

export type ReadLists = {
  readonly lists: readonly ReadNetworkList[];
  readonly rejected: readonly RejectedEntry[];
  readonly skipped: readonly SkippedFile[];
};

/**
 * Reads the lists of a kind from a file, from those of a folder, or from standard input (`-`).
 * @throws UserError when the path cannot be read, or when an id is missing or given to several lists.
 */
export async function readLists(
  kind: NetworkKind,
  path: string,
  { force, id }: ImportOptions,
  context: CommandContext,
): Promise<ReadLists> {
  const files = await listFiles(path, id);
  const [known, others] = [await readKnownLists(kind), await readKnownLists(OTHER[kind])];
  const progress = progressBar("Reading lists", files.length, context.settings.logLevel !== "silent");
  const lists: ReadNetworkList[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of files) {
    const listId = id ?? listIdOf(file);
    try {
      const text = await readInput(file, context);
      if (isMassScanners(file, text)) {
        lists.push(...(await parseMassScanners(kind, listId, text, known)));
        continue;
      }
      const read = parseNetworkList(listId, text, known);
      const isInSubfolder = file !== path && relative(path, dirname(file)) !== "";
      const isForced = force && file === path;
      const reason = isForced ? undefined : findMismatch(kind, listId, { known, others, isInSubfolder });
      if (reason === undefined) lists.push(read);
      else skipped.push({ file, listId, reason, isUnreadable: false });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      skipped.push({ file, listId, reason, isUnreadable: true });
    } finally {
      progress.advance(1);
    }
  }
  progress.end();
  return { lists, rejected: lists.flatMap(({ rejected }) => rejected), skipped };
}

async function listFiles(path: string, id: string | undefined): Promise<string[]> {
  if (path === STANDARD_INPUT) {
    if (id === undefined) throw new UserError("a list on standard input has no name: say its id with --id");
    return [path];
  }
  const files = await findListFiles(path).catch((error: unknown) => {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (id !== undefined && files.some((file) => file !== path)) {
    throw new UserError(`--id names one list, and ${path} is a folder: give the file`);
  }
  return files;
}

/** Whether it is a list of addresses with comments, and not a warninglist, which is JSON. */
function isMassScanners(file: string, text: string): boolean {
  return file.endsWith(".txt") || (file === STANDARD_INPUT && !/^\s*[[{]/.test(text));
}

/** Why a list is not of this kind; undefined when it may be. */
function findMismatch(
  kind: NetworkKind,
  listId: string,
  { known, others, isInSubfolder }: { known: KnownLists; others: KnownLists; isInSubfolder: boolean },
): string | undefined {
  if (others.has(listId)) return `it is a list for noisefloor ${NETWORK_COMMANDS[OTHER[kind]]} import`;
  // The folders of a published collection hold lists of all kinds; only our table says which networks are harmless.
  if (isInSubfolder && !known.has(listId))
    return "no list of this kind by that name is known: import it by its own path";
  return undefined;
}
