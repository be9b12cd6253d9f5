import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** The classes of a server as a JVM has parsed them, beside its jars. With them it starts in half the time. */
export type ClassArchive = {
  /** Options of a JVM that reads the archive, if there is one. */
  readonly reading: readonly string[];
  /** Options of a JVM that reads the archive or, if there is none, makes one when it ends. */
  readonly making: readonly string[];
  /** Keeps what a JVM has made, for those to come. To be called after its end; one that was killed made none. */
  keep(): Promise<void>;
};

/** @param scratch a folder for an archive in the making. */
export async function openClassArchive(jars: string, scratch: string): Promise<ClassArchive> {
  // Each release of Java has one of its own: a JVM ignores another's, as it ignores a damaged one, and starts without.
  const { stderr: release } = await promisify(execFile)("java", ["-version"]);
  const hash = createHash("sha256").update(release).digest("hex").slice(0, 16);
  const archive = join(jars, `classes-${hash}.jsa`);
  if (existsSync(archive)) {
    const reading = [`-XX:SharedArchiveFile=${archive}`];
    return { reading, making: reading, async keep() {} };
  }
  const made = join(scratch, "classes.jsa");
  return {
    reading: [],
    making: [`-XX:ArchiveClassesAtExit=${made}`],
    async keep() {
      if (!existsSync(made)) return;
      // Renamed only when complete: another run may be about to read it.
      const copy = `${archive}-${randomUUID()}`;
      try {
        await copyFile(made, copy);
        await rename(copy, archive);
      } finally {
        await rm(copy, { force: true });
      }
    },
  };
}
