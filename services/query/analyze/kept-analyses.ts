import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { LimitedCaller } from "@noisefloor/http/limits/caller.ts";
import { createHoldings, type Exhausted, sharesOf } from "@noisefloor/http/limits/shares.ts";
import type { TextAnalysis } from "./operations.ts";

/** Max addresses of all analyses together. Each caller has a share. */
const MAX_ADDRESSES = 300_000;
/** What an analysis without any address counts as. */
const LEAST_ADDRESSES = 100;

type Kept = {
  readonly analysis: TextAnalysis;
  readonly caller: LimitedCaller;
  readonly addresses: number;
  readonly at: number;
};

/**
 * Keeps the analyses of the last hour in memory. Beyond its share a caller loses its own oldest ones; only when the
 * callers together have more than there is memory for, the oldest of all are lost.
 * @param now in milliseconds since 1970 UTC.
 */
export function keepAnalyses(now: () => number) {
  const kept = new Map<string, Kept>();
  const holdings = createHoldings(sharesOf(MAX_ADDRESSES));
  const drop = (uuid: string, { caller, addresses }: Kept) => {
    kept.delete(uuid);
    holdings.release(caller, addresses);
  };
  const dropExpired = () => {
    for (const [uuid, one] of kept) {
      if (one.at > now() - HOUR_MS) return;
      drop(uuid, one);
    }
  };
  /** Drops the oldest analysis of those who hold too much. @returns whether there was one. */
  const dropOldest = (exhausted: Exhausted, { name }: LimitedCaller) => {
    for (const [uuid, one] of kept) {
      const { caller } = one;
      if (exhausted === "caller" ? caller.name !== name : exhausted === "withoutKey" && caller.hasKey) continue;
      drop(uuid, one);
      return true;
    }
    return false;
  };
  return {
    add(analysis: TextAnalysis, caller: LimitedCaller): void {
      dropExpired();
      const addresses = analysis.details.unique_ips + LEAST_ADDRESSES;
      let exhausted = holdings.take(caller, addresses);
      while (exhausted !== undefined) {
        if (!dropOldest(exhausted, caller)) throw new RangeError("an analysis larger than a caller's share");
        exhausted = holdings.take(caller, addresses);
      }
      kept.set(analysis.uuid, { analysis, caller, addresses, at: now() });
    },
    /** Puts one into the place of the kept one with its UUID. */
    replace(analysis: TextAnalysis): void {
      const known = kept.get(analysis.uuid);
      if (known !== undefined) kept.set(analysis.uuid, { ...known, analysis });
    },
    /** Undefined for one of another workspace, too. Callers without a key have to know the UUID alone. */
    get(uuid: string, { name, hasKey }: LimitedCaller): TextAnalysis | undefined {
      dropExpired();
      const found = kept.get(uuid);
      if (found === undefined || found.caller.hasKey !== hasKey) return undefined;
      return hasKey && found.caller.name !== name ? undefined : found.analysis;
    },
  };
}
