import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writePrivately } from "@noisefloor/clickhouse/embedded/private-file.ts";
import { openHistory } from "@noisefloor/ingest/sources/history/history.ts";
import { HistoryError } from "@noisefloor/ingest/sources/history/search-server.ts";
import { z } from "zod";
import { type CommandContext, UserError } from "../framework/command.ts";
import { type Progress, progressBar } from "../framework/progress.ts";
import { readSince } from "../framework/since.ts";
import type { InputPart, ReplayInput } from "./inputs.ts";
import type { ReplayOptions } from "./options.ts";
import { withTimeLeft } from "./progress.ts";

/**
 * The documents of an Elasticsearch or OpenSearch. How far they are stored is kept in the data directory, so that the
 * same command goes on after it was stopped.
 * @throws UserError
 */
export async function openDocuments(
  options: ReplayOptions,
  { settings, signal, log }: CommandContext,
): Promise<ReplayInput> {
  const { elasticsearch: url = "", index = "", query, since, dryRun } = options;
  const until = options.until === undefined ? undefined : readSince(options.until, Date.now(), "--until");
  const position = positionFile(settings.clickhouse.dataDir, options);
  const kept = since === undefined && !dryRun ? await position.read() : undefined;
  const start = since === undefined ? (kept ?? 0) : readSince(since, Date.now());
  const onRetry = (error: unknown) => log.warn({ err: error }, "Elasticsearch does not answer; asking again");
  const history = await explain(async () =>
    openHistory({ url, index, query, until, apiKey: settings.elasticsearchApiKey, signal, onRetry }),
  );
  const { hits, timeless } = await explain(() => history.count(start));
  if (kept !== undefined) {
    log.info({ from: new Date(kept).toISOString() }, "going on where the last replay of these documents was stopped");
  }
  if (timeless > 0) log.warn({ documents: timeless }, "documents without an @timestamp are not read");

  async function* parts(advance: Progress["advance"]): AsyncGenerator<InputPart> {
    for (let from: number | undefined = start; from !== undefined; ) {
      const slice = history.slice(from, advance);
      yield {
        files: [slice.file],
        async onStored() {
          if (!dryRun) await position.write(slice.next());
        },
      };
      from = slice.next();
    }
  }
  return {
    first: [history.slice(start).file],
    parts,
    openProgress: () =>
      withTimeLeft(
        progressBar("Replaying", hits, settings.logLevel !== "silent"),
        hits,
        (done) => `${done} of ${hits} documents`,
      ),
    isLive: false,
    skipped: () => 0,
    dispose: async () => {},
  };
}

async function explain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof HistoryError ? new UserError(error.message) : error;
  }
}

const positionSchema = z.object({ from: z.int() });

/** The time before which all documents are stored, of a replay with the same options. */
function positionFile(dataDir: string, { elasticsearch: url = "", ...options }: ReplayOptions) {
  const { index, query, until, format, sensor, timeZone } = options;
  // The password may change meanwhile, and belongs into no file.
  const host = URL.canParse(url) ? new URL(url).host : "";
  const selection = { host, index, query, until, format, sensor, timeZone };
  const name = createHash("sha256").update(JSON.stringify(selection)).digest("hex").slice(0, 16);
  const file = join(resolve(dataDir), `history-${name}.json`);
  return {
    async read(): Promise<number | undefined> {
      try {
        return positionSchema.parse(JSON.parse(await readFile(file, "utf8"))).from;
      } catch {
        return undefined;
      }
    },
    /** @param from undefined when all is stored: the next replay reads it again. */
    async write(from: number | undefined): Promise<void> {
      if (from === undefined) return rm(file, { force: true });
      await mkdir(resolve(dataDir), { recursive: true, mode: 0o700 });
      await writePrivately(file, JSON.stringify({ ...selection, from }));
    },
  };
}
