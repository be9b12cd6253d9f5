import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { atVolume } from "../../support/volume.ts";
import { allEvents, makeWatch, startWatching, writeWatches } from "../../support/worlds/watching-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const WORKSPACE = "watching";
const STEPS = atVolume(12, 60);
const REPEAT_HOURS = 5;
let world: World;
beforeEach(async () => {
  world = await createWorld(Date.now);
  await world.addTags([makeTag("mirai", "malicious")]);
  // It may see the community's observations, too.
  await world.addCaller("unlimited", ["community_dataset"], WORKSPACE);
});
afterEach(() => world.close());

type Stored = {
  readonly ip: string;
  readonly at: number;
  readonly dataset: "global" | "community";
  readonly isTagged: boolean;
};

/** Fresh ones and history, some of them twice. */
function makeBatch(random: Random): Stored[] {
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  const batch = Array.from({ length: random.int(0, 12) }, (): Stored => {
    const hours = random.chance(0.7) ? random.int(0, 23) : random.int(25, 90);
    return {
      ip: `45.0.${random.int(0, 3)}.${random.int(1, 6)}`,
      at: now - hours * HOUR_MS,
      dataset: random.chance(0.7) ? "global" : "community",
      isTagged: hours < 24 && random.chance(0.4),
    };
  });
  return random.chance(0.3) ? [...batch, ...batch] : batch;
}

/** What watches have to tell of after a batch, by brute force. */
class Model {
  readonly #told = new Map<string, number>();
  readonly #repeatHours: number;
  readonly #isWatched: (observed: Stored) => boolean;

  constructor(repeatHours: number, isWatched: (observed: Stored) => boolean) {
    this.#repeatHours = repeatHours;
    this.#isWatched = isWatched;
  }

  tell(batch: readonly Stored[]): string[] {
    const latest = new Map<string, number>();
    for (const each of batch) {
      if (each.at < Date.now() - 24 * HOUR_MS || !this.#isWatched(each)) continue;
      latest.set(each.ip, Math.max(each.at, latest.get(each.ip) ?? 0));
    }
    const told = [...latest].filter(([ip, at]) => {
      const before = this.#told.get(ip);
      return before === undefined || (this.#repeatHours > 0 && at >= before + this.#repeatHours * HOUR_MS);
    });
    for (const [ip, at] of told) this.#told.set(ip, at);
    return told.map(([ip]) => ip).sort();
  }
}

const ipsOf = (events: readonly WatchEvent[], watchId: string) =>
  events
    .filter(({ watch }) => watch.id === watchId)
    .flatMap((event) => ("addresses" in event.data ? event.data.addresses.map(({ ip }) => ip) : []))
    .sort();

test.each([1, 2, 3].slice(0, atVolume(2, 3)))(
  "whatever is stored, and whichever process looks, watches tell of just what an oracle says: seed %i",
  async (seed) => {
    const random = seeded(seed);
    const isIn =
      (...thirds: number[]) =>
      ({ ip }: Stored) =>
        thirds.includes(Number(ip.split(".")[2]));
    const tagged = new Set<string>();
    const watches = [
      {
        watch: makeWatch(
          WORKSPACE,
          { type: "network_seen", networks: ["45.0.0.0/24", "45.0.2.0/23"] },
          { repeatAfterHours: REPEAT_HOURS },
        ),
        model: new Model(REPEAT_HOURS, isIn(0, 2, 3)),
      },
      {
        watch: makeWatch(WORKSPACE, { type: "network_seen", networks: ["45.0.1.0/24"] }),
        model: new Model(0, isIn(1)),
      },
      {
        watch: makeWatch(WORKSPACE, { type: "search_matches", query: "tags:mirai" }),
        model: new Model(0, ({ ip, dataset }) => dataset === "global" && tagged.has(ip)),
      },
    ];
    await writeWatches(
      world,
      watches.map(({ watch }) => watch),
    );
    let processes = [await startWatching(world), await startWatching(world)];
    await Promise.all(processes.map((each) => each.look()));
    const expected = new Map<string, string[]>(watches.map(({ watch }) => [watch.id, []]));
    for (let step = 0; step < STEPS; step++) {
      const batch = makeBatch(random);
      await world.store(
        batch.map(({ ip, at, dataset, isTagged }) =>
          observation(ip, at, { dataset, ...(isTagged && { tags: ["mirai"] }) }),
        ),
      );
      for (const { ip, dataset, isTagged } of batch) if (isTagged && dataset === "global") tagged.add(ip);
      await Promise.all(processes.map((each) => each.look()));
      for (const { watch, model } of watches) expected.get(watch.id)?.push(...model.tell(batch));
      if (random.chance(0.3)) {
        await processes[0]?.stop();
        processes = [...processes.slice(1), await startWatching(world)];
      }
      await Promise.all(processes.map((each) => each.look()));
      const events = await allEvents(world);
      for (const { watch } of watches) {
        expect(ipsOf(events, watch.id), `${watch.on.type}, step ${step}`).toEqual(expected.get(watch.id)?.toSorted());
      }
    }
    await Promise.all(processes.map((each) => each.stop()));
  },
);
