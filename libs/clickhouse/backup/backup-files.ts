import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import pLimit from "p-limit";
import { BackupError, formatUnverified } from "./errors.ts";

/** Several files at the same time: one by one, a disk writes its journal for each. */
const limitFiles = pLimit(16);

/**
 * Brings a backup on our own disk to the disk itself, so that it survives a crash right after, and checks that the
 * files of a folder are as long as the server wrote them, and the checksum of a gzip archive, which the server itself
 * does not compare. A zstd archive's checksum is compared by the server when it unpacks it. In a folder, bytes that
 * changed without a change of length are found by a restore alone.
 * @param storedBytes what the server says that it has stored.
 * @throws BackupError
 */
export async function assertWholeOnDisk(path: string, storedBytes: number): Promise<void> {
  const found = await measureAndSync(path).catch((error: unknown) => {
    if (error instanceof BackupError) throw error;
    throw new BackupError(`the backup cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (found !== undefined && found !== storedBytes) {
    throw new BackupError(formatUnverified(`${found} of its ${storedBytes} bytes are there`));
  }
}

/** Brings the names in a folder to the disk. */
export async function syncFolder(path: string): Promise<void> {
  await withFile(path, (folder) => folder.sync());
}

/** @returns the bytes of a folder's files; undefined for an archive. */
async function measureAndSync(path: string): Promise<number | undefined> {
  if ((await stat(path)).isDirectory()) return measureFolder(path);
  await withFile(path, async (file) => {
    await file.sync();
    if (await isGzip(file)) await assertGzipChecksum(file);
  });
  return undefined;
}

async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  return buffer[0] === 0x1f && buffer[1] === 0x8b;
}

async function assertGzipChecksum(file: FileHandle): Promise<void> {
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const gunzip = createGunzip({ chunkSize: inflateChunkBytes() });
  await pipeline(file.createReadStream({ start: 0, autoClose: false }), gunzip, discard).catch((error: unknown) => {
    throw new BackupError(formatUnverified(error instanceof Error ? error.message : String(error)));
  });
}

async function measureFolder(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const pathOf = (entry: (typeof entries)[number]) => join(entry.parentPath, entry.name);
  const files = entries.filter((entry) => entry.isFile()).map(pathOf);
  const folders = entries.filter((entry) => entry.isDirectory()).map(pathOf);
  const sizes = await limitFiles.map(files, (path) =>
    withFile(path, async (file) => {
      await file.sync();
      return (await file.stat()).size;
    }),
  );
  for (const folder of [...folders, path]) await syncFolder(folder);
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function withFile<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
