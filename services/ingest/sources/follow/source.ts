import { type FollowedFile, lagOf, SHOWN_STATES } from "@noisefloor/clickhouse/intake/followed-files.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import { ingestBatch } from "../../pipeline/pipeline.ts";
import { fileDeadLetter } from "../file/dead-letters.ts";
import { EXPIRED, isFaulty } from "../file/source.ts";
import type { SourceOptions } from "../source-options.ts";
import type { FollowTarget } from "./files/targets.ts";
import { type Follower, type PositionStore, type StorePiece, startFollower } from "./follower.ts";

export type FollowIngestOptions = SourceOptions & {
  readonly targets: readonly FollowTarget[];
  readonly positions: PositionStore;
};

/** Stores the records of files that grow. */
export function startFollowIngest(options: FollowIngestOptions): Promise<Follower> {
  return startFollower({ ...options, store: storePieces(options) });
}

/** Records that are older than the retention are the beginning of a long log: no fault, and no dead letters. */
function storePieces(options: SourceOptions): StorePiece {
  const { counts } = options;
  return ({ records, ignored }) => {
    const { prepared, stored } = ingestBatch(records, {
      ...options,
      // Files are the operator's, who may write everywhere.
      right: "everything",
      explain: explainRejection,
      storeDeadLetters: async (rejected) => {
        const faulty = rejected.filter(isFaulty);
        if (faulty.length > 0) await options.deadLetters(faulty.map(fileDeadLetter));
      },
    });
    const counted = stored.then(({ accepted, rejected }) => {
      const faulty = rejected.filter(isFaulty);
      counts.add({ accepted, rejected: faulty }, {});
      counts.addIgnored(new Map([...ignored, [EXPIRED, rejected.length - faulty.length]]), {});
    });
    return { prepared, stored: counted };
  };
}

/** Max paths in metrics: thousands of rotated files may wait at first. */
const MAX_PATHS = 200;

export function measureFollower(
  files: () => readonly FollowedFile[],
  metrics: Pick<Metrics, "gaugeBy" | "gaugeOf">,
): void {
  metrics.gaugeBy("noisefloor_followed_files", "Followed files, by state", "state", () => {
    const counts = new Map<string, number>(SHOWN_STATES.map((state) => [state, 0]));
    for (const { state } of files()) counts.set(state, (counts.get(state) ?? 0) + 1);
    return counts;
  });
  metrics.gaugeOf(
    "noisefloor_followed_lag_bytes",
    "Bytes of a followed file that are not stored yet; of none that is stored whole. Beyond 200 files, of all others together",
    ["path", "state"],
    () => {
      const late = files()
        .map((file) => ({ file, lag: lagOf(file) }))
        .filter(({ lag }) => lag > 0)
        .sort((one, other) => other.lag - one.lag);
      const others = late.slice(MAX_PATHS).reduce((sum, { lag }) => sum + lag, 0);
      return [
        ...late.slice(0, MAX_PATHS).map(({ file, lag }) => [[file.path, file.state], lag] as const),
        ...(others > 0 ? [[[OTHERS, "following"], others] as const] : []),
      ];
    },
  );
}

const OTHERS = "others";
