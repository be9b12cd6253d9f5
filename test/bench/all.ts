import type { Part } from "./part.ts";
import { activity } from "./parts/activity.ts";
import { addresses } from "./parts/addresses.ts";
import { feeds } from "./parts/feeds.ts";
import { growth } from "./parts/growth.ts";
import { idle } from "./parts/idle.ts";
import { ingest } from "./parts/ingest.ts";
import { lookup } from "./parts/lookup.ts";
import { memory } from "./parts/memory.ts";
import { search } from "./parts/search.ts";
import { storage } from "./parts/storage.ts";
import { watches } from "./parts/watches.ts";
import { worm } from "./parts/worm.ts";

/** In the order in which they are measured. */
export const ALL_PARTS: readonly Part[] = [
  storage,
  lookup,
  activity,
  addresses,
  search,
  feeds,
  ingest,
  watches,
  growth,
  worm,
  idle,
  memory,
];
