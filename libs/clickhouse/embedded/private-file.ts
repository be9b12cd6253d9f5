import { randomBytes } from "node:crypto";
import { link, rename, rm, writeFile } from "node:fs/promises";

/** Writes a file that only its owner may read. Readers see the old content or the new, never a part. */
export async function writePrivately(file: string, text: string): Promise<void> {
  await withPrivateFile(file, text, (unfinished) => rename(unfinished, file));
}

/** The same unless the file exists. If two processes make it together, one's is kept. @returns whether ours is. */
export async function createPrivately(file: string, text: string): Promise<boolean> {
  let isOurs = true;
  await withPrivateFile(file, text, async (unfinished) => {
    await link(unfinished, file).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      isOurs = false;
    });
  });
  return isOurs;
}

async function withPrivateFile(file: string, text: string, use: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(unfinished, text, { mode: 0o600, flag: "wx" });
    await use(unfinished);
  } finally {
    await rm(unfinished, { force: true });
  }
}
