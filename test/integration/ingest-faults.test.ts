import { afterAll, beforeAll, expect, test } from "vitest";
import { brokerRestart } from "../soak/broker-restart.ts";
import { kill } from "../soak/kill.ts";
import { members } from "../soak/members.ts";
import { playOn } from "../soak/scenario.ts";
import { storeOutage } from "../soak/store-outage.ts";
import { openProvingGround, type ProvingGround } from "../support/proving-ground.ts";

const SEED = 1;
/** A scenario finds out by itself when nothing moves any more; this is for machines with much else to do. */
const MOST_MS = 300_000;
let ground: ProvingGround;

beforeAll(async () => {
  ground = await openProvingGround();
});
afterAll(() => ground.close());

test.each([kill, storeOutage, brokerRestart, members])(
  "$promise",
  async (scenario) => {
    const terms = { extent: "test", seed: SEED, events: scenario.events.test, say: () => {} } as const;
    expect((await playOn(ground, scenario, terms)).told).not.toBe("");
  },
  MOST_MS,
);
