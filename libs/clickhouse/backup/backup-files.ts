import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { BackupError, notReadBack } from "./backup.ts";

const FILES_AT_ONCE = 16;

/**
 * Sees that a backup on our own disk is as long as it was made, and brings it to the disk itself, so that a crash right
 * after leaves no less. In a folder every file that is short or missing is found, in a bare .tar every entry. A compressed
 * archive is not unpacked here: the server has to, to read its listing. Bytes that are other than they were written are
 * found by a restore alone.
 * @param storedBytes what the server says that it has stored.
 * @throws BackupError
 */
export async function requireWholeOnDisk(path: string, storedBytes: number): Promise<void> {
  const found = await measureAndSync(path).catch((error: unknown) => {
    throw new BackupError(`the backup cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (found !== undefined && found !== storedBytes) {
    throw new BackupError(notReadBack(`${found} of its ${storedBytes} bytes are there`));
  }
}

/** Brings to the disk which names a folder holds. */
export async function syncFolder(path: string): Promise<void> {
  await withFile(path, (folder) => folder.sync());
}

/** @returns undefined when only unpacking it would tell. */
async function measureAndSync(path: string): Promise<number | undefined> {
  if ((await stat(path)).isDirectory()) return measureFolder(path);
  return withFile(path, async (file) => {
    await file.sync();
    return path.endsWith(".tar") ? measureTar(file) : undefined;
  });
}

async function measureFolder(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const pathOf = (entry: (typeof entries)[number]) => join(entry.parentPath, entry.name);
  const files = entries.filter((entry) => entry.isFile()).map(pathOf);
  const folders = entries.filter((entry) => entry.isDirectory()).map(pathOf);
  let bytes = 0;
  // Some at once: one by one a disk would write its journal for each.
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const sizes = files.slice(start, start + FILES_AT_ONCE).map((file) =>
      withFile(file, async (opened) => {
        await opened.sync();
        return (await opened.stat()).size;
      }),
    );
    for (const size of await Promise.all(sizes)) bytes += size;
  }
  for (const folder of [...folders, path]) await syncFolder(folder);
  return bytes;
}

const BLOCK = 512;

/**
 * How many bytes the entries of a .tar hold, from its headers. A server that writes on after a write that failed leaves a
 * gap, behind which there is no header where the one before says; its own reader looks for the next one there is.
 */
async function measureTar(file: FileHandle): Promise<number> {
  const { size: length } = await file.stat();
  const header = Buffer.alloc(BLOCK);
  let bytes = 0;
  let sizeSaid: number | undefined;
  for (let at = 0; at + BLOCK <= length; ) {
    await file.read(header, 0, BLOCK, at);
    at += BLOCK;
    if (header.toString("latin1", 257, 262) !== "ustar") break;
    const kind = header.toString("latin1", 156, 157);
    const size = sizeSaid ?? Number.parseInt(header.toString("latin1", 124, 136), 8);
    sizeSaid = undefined;
    // What follows says more of the next entry than its own header has room for: a size from 8 GiB.
    if (kind === "x") {
      const { buffer } = await file.read(Buffer.alloc(size), 0, size, at);
      const said = /^\d+ size=(\d+)$/m.exec(buffer.toString())?.[1];
      if (said !== undefined) sizeSaid = Number(said);
    } else {
      bytes += Math.min(size, length - at);
    }
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
  return bytes;
}

async function withFile<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
