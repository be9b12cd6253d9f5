import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type StreamPosition, streamPositions } from "@noisefloor/clickhouse/feeds/streams.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";

/** What a bouncer was told last, and the revisions that it may know from answers that were not sent whole since. */
export type Told = { readonly last: StreamPosition | undefined; readonly unsure: readonly string[] };

/** What bouncers were told, by the ids of their tokens. */
export type StreamPositions = {
  read(tokenId: string): Promise<Told>;
  /** Before an answer is sent: a bouncer that is cut off may have obeyed it, or not. */
  offer(tokenId: string, revision: string): void;
  /** After an answer was sent whole. */
  confirm(tokenId: string, position: StreamPosition): void;
  /** Stores what is not stored yet. */
  drain(): Promise<void>;
};

/** Max revisions that a bouncer which is cut off again and again may know. */
const MAX_UNSURE = 20;

/** @param onError called with the error of a write, which the bouncer's next request tries again. */
export function openStreamPositions(client: ClickHouseClient, onError: (error: unknown) => void): StreamPositions {
  const unsure = new Map<string, readonly string[]>();
  /** Positions that are being stored, or could not be. */
  const unstored = new Map<string, StreamPosition>();
  const share = createSingleFlight<string, void>();
  const store = (tokenId: string) =>
    share(tokenId, async () => {
      for (let position = unstored.get(tokenId); position !== undefined; position = unstored.get(tokenId)) {
        try {
          await streamPositions.write(client, [{ tokenId, ...position }]);
        } catch (error) {
          return onError(error);
        }
        if (unstored.get(tokenId) === position) unstored.delete(tokenId);
      }
    });

  return {
    async read(tokenId) {
      await store(tokenId);
      const [row] = await streamPositions.readByIds(client, [tokenId]);
      const stored = row && { revision: row.revision, answeredAt: row.answeredAt };
      const latest = unstored.get(tokenId);
      const isNewer = latest !== undefined && latest.answeredAt > (stored?.answeredAt ?? 0);
      return { last: isNewer ? latest : stored, unsure: unsure.get(tokenId) ?? [] };
    },
    offer(tokenId, revision) {
      const others = (unsure.get(tokenId) ?? []).filter((other) => other !== revision);
      unsure.set(tokenId, [...others, revision].slice(-MAX_UNSURE));
    },
    confirm(tokenId, position) {
      unsure.delete(tokenId);
      unstored.set(tokenId, position);
      void store(tokenId);
    },
    async drain() {
      await Promise.all(Array.from(unstored.keys(), store));
    },
  };
}
