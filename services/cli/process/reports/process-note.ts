import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writePrivately } from "@noisefloor/clickhouse/embedded/private-file.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { z } from "zod";

const noteSchema = z.object({
  pid: z.int(),
  roles: z.array(z.string()),
  url: z.string(),
  version: z.string(),
  /** Milliseconds since 1970 UTC. */
  startedAt: z.int(),
});
/** What a service writes into the data directory, for `noisefloor status` to find it. */
export type ProcessNote = z.infer<typeof noteSchema>;

const NAME = /^service-\d+\.json$/;

/**
 * Writes the note of a service that listens. The port names the file: a service that was killed is replaced by the next
 * one. Services run also where they may not write there.
 * @returns how to remove it.
 */
export async function writeProcessNote(
  dataDir: string,
  port: number,
  note: ProcessNote,
  log: Pick<Logger, "debug">,
): Promise<() => Promise<void>> {
  const folder = resolve(dataDir);
  const file = join(folder, `service-${port}.json`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writePrivately(file, JSON.stringify(note));
  } catch (error) {
    log.debug({ err: error, file }, "cannot write where this service listens; status will not find it by itself");
    return async () => {};
  }
  return async () => {
    if ((await readNote(file))?.pid === note.pid) await rm(file, { force: true });
  };
}

/** The notes in a data directory, also of services that were killed. */
export async function readProcessNotes(dataDir: string): Promise<ProcessNote[]> {
  const names = await readdir(resolve(dataDir)).catch(() => []);
  const notes: ProcessNote[] = [];
  for (const name of names.filter((one) => NAME.test(one)).sort()) {
    const note = await readNote(join(resolve(dataDir), name));
    if (note !== undefined) notes.push(note);
  }
  return notes;
}

async function readNote(file: string): Promise<ProcessNote | undefined> {
  try {
    return noteSchema.safeParse(JSON.parse(await readFile(file, "utf8"))).data;
  } catch {
    return undefined;
  }
}
