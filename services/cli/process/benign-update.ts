import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type NetworkKind, readNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { readKnownLists } from "../networks/known-lists.ts";
import { isStarter } from "../networks/starter-networks.ts";
import { MISP_WARNINGLISTS, updateNetworks } from "../networks/update-networks.ts";
import type { ServiceContext } from "./service-context.ts";

/** How old the lists become. Looked at each hour: a restart does not begin a new day, and a failure is tried again. */
const MAX_AGE_MS = DAY_MS;
/** A start is busy enough. */
const FIRST_LOOK_MS = 60_000;

const KINDS: readonly NetworkKind[] = ["service", "actor"];

export type BenignUpdate = {
  /** Updates the lists that are older than a day. Never rejects: a failure is logged and counted. */
  look(): Promise<void>;
  stop(): void;
};

export type BenignUpdateOptions = Pick<ServiceContext, "metrics"> & {
  readonly log: {
    readonly info: (fields: object, message: string) => void;
    readonly warn: (fields: object, message: string) => void;
  };
  readonly client: ClickHouseClient;
  /** Where the archive is. */
  readonly from?: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Keeps the lists of benign services and scan operators up to date, as BENIGN_UPDATE=daily asks for. */
export function startBenignUpdate(options: BenignUpdateOptions): BenignUpdate {
  const { client, from = MISP_WARNINGLISTS, now, log, metrics } = options;
  const stopping = new AbortController();
  for (const outcome of ["updated", "failed"]) metrics.benignUpdates.inc({ outcome }, 0);
  const update = async (kind: NetworkKind) => {
    try {
      if (now() - (await readLastUpdate(client, kind)) < MAX_AGE_MS) return;
      const { imported, kept } = await updateNetworks(client, { kind, from, now: now(), signal: stopping.signal });
      metrics.benignUpdates.inc({ outcome: "updated" });
      for (const { listId, reason } of kept) log.warn({ kind, listId }, `a list was left as it was: ${reason}`);
      log.info({ kind, lists: imported.length }, "the lists of benign networks were updated");
    } catch (error) {
      if (stopping.signal.aborted) return;
      metrics.benignUpdates.inc({ outcome: "failed" });
      log.warn({ err: error, kind, from }, "updating the lists of benign networks failed; they stay as they are");
    }
  };
  const updateAll = async () => {
    for (const kind of KINDS) await update(kind);
  };
  const looks = repeatEvery(updateAll, { everyMs: HOUR_MS, firstMs: FIRST_LOOK_MS, onError: () => {} });
  return {
    look: looks.run,
    stop() {
      stopping.abort();
      void looks.stop();
    },
  };
}

/** When a published list of the kind was imported last; 0 when none was. */
async function readLastUpdate(client: ClickHouseClient, kind: NetworkKind): Promise<number> {
  const known = await readKnownLists(kind);
  const imported = (await readNetworkLists(client, kind)).filter((list) => known.has(list.listId) && !isStarter(list));
  return Math.max(0, ...imported.map(({ refreshedAt }) => refreshedAt));
}
