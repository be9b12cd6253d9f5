import type { LimitedCaller } from "./caller.ts";

/** How much of something limited there is, and how much of it one caller and all callers without a key may hold. */
export type Shares = {
  readonly all: number;
  readonly withoutKey: number;
  readonly caller: number;
  readonly callerWithoutKey: number;
};

/** Half for callers without a key and for one with a key, a quarter for one without. */
export function sharesOf(all: number): Shares {
  const atLeastOne = (share: number) => Math.max(1, Math.floor(share));
  return { all, withoutKey: atLeastOne(all / 2), caller: atLeastOne(all / 2), callerWithoutKey: atLeastOne(all / 4) };
}

/** Which share is used up: the caller's own, that of all callers without a key, or everybody's. */
export type Exhausted = "caller" | "withoutKey" | "all";

/** Counts who holds how much. */
export type Holdings = {
  used(): number;
  /** The most that this caller can ever hold. */
  mostFor(caller: LimitedCaller): number;
  /** @returns why it cannot be had; undefined when it could be taken now. */
  check(caller: LimitedCaller, amount: number): Exhausted | undefined;
  /** The same, and takes it if it can be had. */
  take(caller: LimitedCaller, amount: number): Exhausted | undefined;
  giveBack(caller: LimitedCaller, amount: number): void;
};

export function createHoldings(shares: Shares): Holdings {
  const byCaller = new Map<string, number>();
  let all = 0;
  let withoutKey = 0;
  const mostFor = ({ hasKey }: LimitedCaller) => (hasKey ? shares.caller : shares.callerWithoutKey);
  const add = ({ name, hasKey }: LimitedCaller, amount: number) => {
    const held = (byCaller.get(name) ?? 0) + amount;
    if (held > 0) byCaller.set(name, held);
    else byCaller.delete(name);
    all += amount;
    if (!hasKey) withoutKey += amount;
  };
  const check = (caller: LimitedCaller, amount: number): Exhausted | undefined => {
    if ((byCaller.get(caller.name) ?? 0) + amount > mostFor(caller)) return "caller";
    if (all + amount > shares.all) return "all";
    return !caller.hasKey && withoutKey + amount > shares.withoutKey ? "withoutKey" : undefined;
  };
  return {
    used: () => all,
    mostFor,
    check,
    take(caller, amount) {
      const exhausted = check(caller, amount);
      if (exhausted === undefined) add(caller, amount);
      return exhausted;
    },
    giveBack: (caller, amount) => add(caller, -amount),
  };
}
