import { badEvents } from "./bad-events.ts";
import { brokerRestart } from "./broker-restart.ts";
import { follow } from "./follow.ts";
import { kill } from "./kill.ts";
import { load } from "./load.ts";
import { members } from "./members.ts";
import { overLimit } from "./over-limit.ts";
import type { Scenario } from "./scenario.ts";
import { storeOutage } from "./store-outage.ts";
import { terminate } from "./terminate.ts";
import { watches } from "./watches.ts";

/** In the order in which they run. */
export const ALL_SCENARIOS: readonly Scenario[] = [
  kill,
  storeOutage,
  brokerRestart,
  members,
  follow,
  overLimit,
  badEvents,
  terminate,
  watches,
  load,
];
