import { setImmediate as nextTurn } from "node:timers/promises";
import { BackupError } from "@noisefloor/clickhouse/backup/errors.ts";
import type { BackupPart } from "@noisefloor/clickhouse-cluster/backup/parts.ts";
import { expect, test } from "vitest";
import { type MakePart, makeParts } from "./backup-parts.ts";

const partOf = (number: number): BackupPart => ({
  connection: { url: "http://127.0.0.1:1", username: "", password: "", database: "noisefloor" },
  replicas: [],
  place: { kind: "file", path: `/backups/day-shard${number}of2` },
  shard: `shard ${number} of 2`,
});
const PARTS = [partOf(1), partOf(2)];
const made = { bytes: 10, storedBytes: 20 };

/** The first shard is done before the second one is asked what to do. */
const secondAfterFirst =
  (second: MakePart): MakePart =>
  async (part, client, options) => {
    if (part.shard === "shard 1 of 2") return made;
    await nextTurn();
    return second(part, client, options);
  };
const run = (make: MakePart, signal = new AbortController().signal) => makeParts(PARTS, make, signal, () => {});

test("the bytes of all parts count", async () => {
  expect(await run(async () => made)).toEqual({ bytes: 20 });
});

test("when one part fails, the error says of which shard, and what is left of the others", async () => {
  const full = secondAfterFirst(async () => {
    throw new BackupError("the disk is full");
  });
  await expect(run(full)).rejects.toThrow(
    /^shard 2 of 2: the disk is full\. Delete \/backups\/day-shard1of2: without the other shards that is no backup$/,
  );
});

test("when one part fails, the others are cancelled, and an error without remains says nothing of them", async () => {
  const make: MakePart = async ({ shard }, _, { signal }) => {
    if (shard === "shard 1 of 2") throw new BackupError("the disk is full");
    await new Promise((settle) => signal.addEventListener("abort", settle));
    return undefined;
  };
  await expect(run(make)).rejects.toThrow(/^shard 1 of 2: the disk is full$/);
});

test("a cancelled backup is not a backup, and the parts finished before are named", async () => {
  expect(await run(async () => undefined)).toBeUndefined();
  await expect(run(secondAfterFirst(async () => undefined))).rejects.toThrow(
    /^the backup was cancelled\. Delete \/backups\/day-shard1of2: /,
  );
});
