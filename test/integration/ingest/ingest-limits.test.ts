import { afterAll, beforeAll, expect, test } from "vitest";
import { badEvents } from "../../soak/bad-events.ts";
import { playOn } from "../../soak/scenario.ts";
import { terminate } from "../../soak/terminate.ts";
import { openProvingGround, type ProvingGround } from "../../support/worlds/soak-stage.ts";

const SEED = 2;
/** A scenario finds out by itself when nothing moves any more; this is for machines with much else to do. */
const MOST_MS = 300_000;
let ground: ProvingGround;

beforeAll(async () => {
  ground = await openProvingGround();
});
afterAll(() => ground.close());

// Those that take longer are played by the soak alone.
test.each([badEvents, terminate])(
  "$promise",
  async (scenario) => {
    const terms = { extent: "test", seed: SEED, events: scenario.events.test, say: () => {} } as const;
    expect((await playOn(ground, scenario, terms)).told).not.toBe("");
  },
  MOST_MS,
);
