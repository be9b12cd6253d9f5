import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { TextAnalysis } from "./operations.ts";

/** Of all analyses together; the oldest analyses are dropped first. */
const MAX_ADDRESSES = 300_000;
/** What an analysis without any address counts as. */
const LEAST_ADDRESSES = 100;

type Kept = {
  readonly analysis: TextAnalysis;
  /** The workspace that uploaded the text; undefined for a caller without a key. */
  readonly owner: string | undefined;
  readonly at: number;
};

/** Keeps the analyses of the last hour in memory. @param now in milliseconds since 1970 UTC. */
export function keepAnalyses(now: () => number) {
  const kept = new Map<string, Kept>();
  let addresses = 0;
  const sizeOf = ({ details }: TextAnalysis) => details.unique_ips + LEAST_ADDRESSES;
  const evict = () => {
    for (const [uuid, { analysis, at }] of kept) {
      if (addresses <= MAX_ADDRESSES && at > now() - HOUR_MS) return;
      kept.delete(uuid);
      addresses -= sizeOf(analysis);
    }
  };
  return {
    add(analysis: TextAnalysis, owner: string | undefined): void {
      kept.set(analysis.uuid, { analysis, owner, at: now() });
      addresses += sizeOf(analysis);
      evict();
    },
    /** Undefined for one of another workspace, too. */
    get(uuid: string, owner: string | undefined): TextAnalysis | undefined {
      evict();
      const found = kept.get(uuid);
      return found?.owner === owner ? found?.analysis : undefined;
    },
  };
}
