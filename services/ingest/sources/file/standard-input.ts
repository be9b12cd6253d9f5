import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type LogFile, openable } from "./log-files.ts";

/** Its name in dead letters. */
const NAME = "stdin";
/** What comes within this time of the first bytes is looked at before any of it is stored. */
const HEAD_MS = 1_000;
const MAX_HEAD_BYTES = 16 * 1024 * 1024;

/** Standard input as a temporary file, for what reads it twice. `dispose` removes that file. */
export async function spoolInput(
  input: Readable,
  signal?: AbortSignal,
): Promise<{ file: LogFile; dispose: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-"));
  const dispose = () => rm(folder, { recursive: true, force: true });
  const copy = join(folder, NAME);
  try {
    await pipeline(input, createWriteStream(copy, { mode: 0o600 }), { signal });
    return { file: { ...openable(copy), name: NAME, bytes: (await stat(copy)).size }, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/**
 * Standard input that is read as it comes. `head` is what has come of it a second after its first bytes, and can be
 * read until `file` is opened. When the signal aborts, both end.
 */
export async function openLiveInput(input: Readable, signal: AbortSignal): Promise<{ file: LogFile; head: LogFile }> {
  const chunks = untilAborted(input, signal);
  const first: Buffer[] = [];
  let bytes = 0;
  let next = chunks.next();
  const isOver = next.then(() => sleep(HEAD_MS, undefined, { ref: false }));
  for (;;) {
    const step = await Promise.race([next, isOver]);
    if (step === undefined || step.done) break;
    first.push(step.value);
    bytes += step.value.length;
    next = chunks.next();
    if (bytes >= MAX_HEAD_BYTES) break;
  }
  // It may fail before anything reads on.
  next.catch(() => {});
  async function* all() {
    yield* first.splice(0);
    for (let step = await next; !step.done; step = await chunks.next()) yield step.value;
  }
  const common = { name: NAME, bytes: 0 };
  return {
    file: { ...common, open: () => Readable.from(all(), { objectMode: false }) },
    head: { ...common, open: () => Readable.from([...first], { objectMode: false }), isCut: true },
  };
}

/** A pipe may stay open and silent for days: an abort ends the wait for its next bytes. */
async function* untilAborted(input: Readable, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of addAbortSignal(signal, input)) {
      yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
