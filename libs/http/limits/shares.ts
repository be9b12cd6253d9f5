import type { LimitedCaller } from "./caller.ts";

/** A limit, and the parts of it that one caller and all callers without a key may hold. */
export type Shares = {
  readonly all: number;
  readonly withoutKey: number;
  readonly caller: number;
  readonly callerWithoutKey: number;
};

/** Half for all callers without a key and for one caller with a key, a quarter for one without. */
export function sharesOf(all: number): Shares {
  const atLeastOne = (share: number) => Math.max(1, Math.floor(share));
  return { all, withoutKey: atLeastOne(all / 2), caller: atLeastOne(all / 2), callerWithoutKey: atLeastOne(all / 4) };
}

/** The limit that is reached: the caller's, that of all callers without a key, or the total. */
export type Exhausted = "caller" | "withoutKey" | "all";

/** Counts how much each caller holds. @throws RangeError for a negative amount, which would be held for ever. */
export type Holdings = {
  used(): number;
  /** The maximum that this caller can ever hold. */
  maxFor(caller: LimitedCaller): number;
  /** @returns the limit that the amount would exceed; undefined when it could be taken now. */
  check(caller: LimitedCaller, amount: number): Exhausted | undefined;
  /** The same, and takes the amount if no limit is exceeded. */
  take(caller: LimitedCaller, amount: number): Exhausted | undefined;
  release(caller: LimitedCaller, amount: number): void;
};

export function createHoldings(shares: Shares): Holdings {
  const byCaller = new Map<string, number>();
  let all = 0;
  let withoutKey = 0;
  const maxFor = ({ hasKey }: LimitedCaller) => (hasKey ? shares.caller : shares.callerWithoutKey);
  const add = ({ name, hasKey }: LimitedCaller, amount: number) => {
    const held = (byCaller.get(name) ?? 0) + amount;
    if (held > 0) byCaller.set(name, held);
    else byCaller.delete(name);
    all += amount;
    if (!hasKey) withoutKey += amount;
  };
  const check = (caller: LimitedCaller, amount: number): Exhausted | undefined => {
    if (!(amount >= 0)) throw new RangeError(`${amount} cannot be held`);
    if ((byCaller.get(caller.name) ?? 0) + amount > maxFor(caller)) return "caller";
    if (all + amount > shares.all) return "all";
    return !caller.hasKey && withoutKey + amount > shares.withoutKey ? "withoutKey" : undefined;
  };
  return {
    used: () => all,
    maxFor,
    check,
    take(caller, amount) {
      const exhausted = check(caller, amount);
      if (exhausted === undefined) add(caller, amount);
      return exhausted;
    },
    release: (caller, amount) => add(caller, -amount),
  };
}
