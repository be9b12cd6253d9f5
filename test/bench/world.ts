import { randomUUID } from "node:crypto";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { addCaller } from "../support/worlds/callers.ts";
import { MIGRATIONS } from "../support/worlds/databases.ts";
import { makeTag } from "../support/worlds/world.ts";
import { addressOf, fillHistory, type History } from "./history.ts";
import { mergeClosedPartitions, untilMerged } from "./merges.ts";
import { type QueryService, startQueryService } from "./query-service.ts";
import { type HeavyTag, shapeOf } from "./shape.ts";

/** A database with a history, and a service that answers from it. */
export type World = {
  readonly connection: ClickHouseConnection;
  readonly client: ClickHouseClient;
  readonly service: QueryService;
  /** The key of a caller with every right. */
  readonly key: string;
  readonly tags: readonly Tag[];
  readonly heavy: Tag;
  readonly ordinary: Tag;
  /** One whose addresses stay the same. */
  readonly steady: Tag;
  readonly history: History;
  close(): Promise<void>;
};

export type WorldOptions = {
  readonly size: number;
  /** The size of the smallest of the worlds that are compared with each other. */
  readonly smallest: number;
  readonly seed: number;
  readonly heavyTag: HeavyTag;
  readonly say: (text: string) => void;
};

/** Fills a database of its own inside the server: nothing of it passes through this process. */
export async function openWorld(server: ClickHouseConnection, options: WorldOptions): Promise<World> {
  const { size, smallest, seed, heavyTag, say } = options;
  const database = await openDatabase(server);
  const { connection, client } = database;
  try {
    const { ordinaryTags, ...shape } = shapeOf(size, smallest, heavyTag);
    const heavy = makeTag("heavy", "malicious");
    const others = Array.from({ length: ordinaryTags }, (_, index) =>
      makeTag(`ordinary-${index}`, INTENTIONS[(index + 1) % INTENTIONS.length] ?? "unknown"),
    );
    const steady = makeTag("steady", "benign");
    const tags = [heavy, ...others, steady];
    await tagRecords.write(client, tags, Date.now());
    const start = performance.now();
    const tagIds = tags.map(({ id }) => id);
    const history = await fillHistory(client, { ...shape, seed, tagIds, end: Date.now(), onProgress: everyTenth(say) });
    const filled = performance.now();
    await mergeClosedPartitions(client);
    await untilMerged(client);
    const seconds = (from: number, to: number) => `${((to - from) / 1_000).toFixed(0)} s`;
    say(
      `${history.rows} observations stored in ${seconds(start, filled)}, merged for ${seconds(filled, performance.now())}`,
    );
    const key = await addCaller(client, "bench", "unlimited", ["community_dataset"]);
    const service = await startQueryService(connection, key);
    const close = async () => {
      await service.close();
      await database.drop();
    };
    return { connection, client, service, key, tags, heavy, ordinary: others[0] ?? steady, steady, history, close };
  } catch (error) {
    await database.drop();
    throw error;
  }
}

/** Forty-eight million take eight minutes. */
function everyTenth(say: WorldOptions["say"]) {
  let said = 0;
  return (rows: number, total: number) => {
    const tenths = Math.floor((10 * rows) / total);
    if (tenths > said && tenths < 10) say(`${tenths * 10} % of ${total} observations`);
    said = tenths;
  };
}

/** A migrated database without rows, and how it goes again. */
export async function openDatabase(server: ClickHouseConnection) {
  const connection = { ...server, database: `bench_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect(connection, "noisefloor-tests", 600_000);
  const drop = async () => {
    await client.command({ query: "DROP DATABASE {name:Identifier}", query_params: { name: connection.database } });
    await client.close();
  };
  return { connection, client, drop };
}

/** Different addresses, of which every other one was seen. Another `step` makes others. */
export function someAddresses({ history }: Pick<World, "history">, count: number, step = 0): string[] {
  const spread = Math.max(1, Math.floor(history.addresses / count));
  return Array.from({ length: count }, (_, index) =>
    addressOf(index % 2 === 0 ? (index * spread + step) % history.addresses : history.addresses + count * step + index),
  );
}
