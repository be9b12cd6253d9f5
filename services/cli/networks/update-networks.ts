import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { readKnownLists } from "./known-lists.ts";
import { type StoredLists, storeLists } from "./store-lists.ts";
import { readWarninglistArchive } from "./warninglist-archive.ts";

/** The published collection. */
export const MISP_WARNINGLISTS = "https://github.com/MISP/misp-warninglists/archive/refs/heads/main.tar.gz";

/** A download of some ten megabytes. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

export type UpdateOptions = {
  readonly kind: NetworkKind;
  /** The URL or the path of a .tar.gz of the MISP warninglists, or its bytes. */
  readonly from: string | Readable;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Replaces the lists of a kind that our table knows by those of an archive. All of it is read before anything is
 * changed.
 * @throws Error when the archive cannot be had or is broken: then nothing was changed.
 */
export async function updateNetworks(
  client: ClickHouseClient,
  { kind, from, now, signal }: UpdateOptions,
): Promise<StoredLists> {
  const knownLists = await readKnownLists(kind);
  const lists = await readWarninglistArchive(await openArchive(from, signal), knownLists);
  signal?.throwIfAborted();
  return storeLists(client, kind, lists, { force: false, now });
}

async function openArchive(from: string | Readable, signal: AbortSignal | undefined): Promise<Readable> {
  if (typeof from !== "string") return from;
  if (!/^https?:\/\//.test(from)) return (await open(from)).createReadStream();
  const timeout = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const response = await fetch(from, { signal: ended }).catch((error: unknown) => {
    // fetch says no more than "fetch failed"; its cause says why.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${from}: ${cause instanceof Error ? cause.message : String(cause)}`);
  });
  if (!response.ok || response.body === null) throw new Error(`${from} answered with ${response.status}`);
  return Readable.from(response.body);
}
