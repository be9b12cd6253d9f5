import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readTokenUses, type TokenUse, writeTokenUses } from "@noisefloor/clickhouse/feeds/token-uses.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";

/** When the tokens of feeds were used, in this process and in others. */
export type TokenUses = {
  note(tokenId: string): void;
  /** The last use of each token, by its id, in milliseconds since 1970 UTC. */
  read(): Promise<ReadonlyMap<string, number>>;
  /** The last use of some tokens, and how many were used again and again but not for a day, as of the last poll. */
  summarize(tokens: readonly { readonly id: string }[]): TokenSummary;
  /** Stores what is not stored yet. */
  stop(): Promise<void>;
};

export type TokenSummary = {
  /** Milliseconds since 1970 UTC; 0 for never. */
  readonly lastUsedAt: number;
  readonly silentTokens: number;
};

export type TokenUsesOptions = {
  readonly client: ClickHouseClient;
  readonly now: () => number;
  /** How often uses are stored and read; left out, they are stored at the end. */
  readonly everyMs?: number | undefined;
  /** Called with the first of consecutive failures: they are stored later, or by a process that may write. */
  readonly onError: (error: unknown) => void;
};

/** A token in use is stored this often. */
const STORE_AFTER_MS = 5 * 60_000;
/** A token that was seen in so many of these spans, an hour's worth, is one that a consumer reads with. */
const MIN_TIMES = 12;
/** After a week a token that is not used is taken for given up. */
const SILENT_MS = { from: DAY_MS, to: 7 * DAY_MS } as const;

export function openTokenUses({ client, now, everyMs, onError }: TokenUsesOptions): TokenUses {
  /** The last uses that this process has seen, and those that it has stored. */
  const [seen, stored] = [new Map<string, number>(), new Map<string, number>()];
  let polled: ReadonlyMap<string, TokenUse> = new Map();
  const lastUse = (id: string) => Math.max(polled.get(id)?.usedAt ?? 0, seen.get(id) ?? 0);

  /** @param isEnd whether those are stored, too, that were stored a moment ago. */
  const store = async (isEnd = false) => {
    const isDue = (last: number) => isEnd || Math.abs(now() - last) >= STORE_AFTER_MS;
    const uses = Array.from(seen, ([tokenId, usedAt]) => ({ tokenId, usedAt })).filter(({ tokenId, usedAt }) => {
      const last = stored.get(tokenId) ?? 0;
      return usedAt !== last && isDue(last);
    });
    await writeTokenUses(client, uses);
    for (const { tokenId, usedAt } of uses) stored.set(tokenId, usedAt);
  };
  const poll = async () => {
    polled = new Map((await readTokenUses(client)).map((use) => [use.tokenId, use]));
  };
  // A user who may not write reads what others have stored.
  const loop = repeatEvery(() => store().finally(poll), { everyMs, onError });

  return {
    note: (tokenId) => void seen.set(tokenId, now()),
    async read() {
      await poll();
      return new Map([...polled.keys(), ...seen.keys()].map((id) => [id, lastUse(id)]));
    },
    summarize(tokens) {
      const isSilent = ({ id }: { readonly id: string }) => {
        const silentMs = now() - lastUse(id);
        return (polled.get(id)?.times ?? 0) >= MIN_TIMES && silentMs > SILENT_MS.from && silentMs < SILENT_MS.to;
      };
      return {
        lastUsedAt: tokens.reduce((last, { id }) => Math.max(last, lastUse(id)), 0),
        silentTokens: tokens.filter(isSilent).length,
      };
    },
    async stop() {
      await loop.stop();
      await store(true).catch(onError);
    },
  };
}
