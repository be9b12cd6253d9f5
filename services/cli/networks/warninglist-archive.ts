import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import type { KnownLists } from "./known-lists.ts";
import { parseNetworkList, type ReadNetworkList } from "./network-list-file.ts";

/** A list's file within the archive of a repository: the folder in front has the name of the branch. */
const LIST_FILE = /^(?:[^/]+\/)?lists\/([^/]+)\/list\.json$/;
/** The largest published list has 4 MiB, and all of them together, other kinds too, 100 MiB. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const MAX_ARCHIVE_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * Reads, from a .tar.gz of the MISP warninglists, the lists that our table knows; all others are passed over.
 * @throws Error when the archive is cut or broken, a list in it cannot be read, or it holds none that is known.
 */
export async function readWarninglistArchive(archive: Readable, known: KnownLists): Promise<ReadNetworkList[]> {
  const lists: ReadNetworkList[] = [];
  const entries = extract();
  let bytes = 0;
  const unpacked = pipeline(
    archive,
    createGunzip(),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        bytes += piece.length;
        if (bytes > MAX_ARCHIVE_BYTES) throw new Error("the archive is larger than any of the MISP warninglists");
        yield piece;
      }
    },
    entries,
  );
  // Awaited below; until then a failure must not count as unhandled.
  unpacked.catch(() => {});
  for await (const entry of entries) {
    const listId = LIST_FILE.exec(entry.header.name)?.[1];
    if (listId === undefined || !known.has(listId) || (entry.header.size ?? 0) > MAX_LIST_BYTES) {
      entry.resume();
      continue;
    }
    const pieces: Buffer[] = [];
    for await (const piece of entry) if (Buffer.isBuffer(piece)) pieces.push(piece);
    lists.push(readList(listId, Buffer.concat(pieces).toString("utf8"), known));
  }
  await unpacked;
  if (lists.length === 0) throw new Error("the archive holds none of the lists that Noisefloor knows");
  return lists;
}

function readList(listId: string, text: string, known: KnownLists): ReadNetworkList {
  try {
    return parseNetworkList(listId, text, known);
  } catch (error) {
    throw new Error(`the list ${listId} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
