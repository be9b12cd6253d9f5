import { setTimeout as sleep } from "node:timers/promises";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import type { Classification } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { pathOf } from "./activity-question.ts";
import type { World } from "./world.ts";

/** The service looks every second whether tags have changed, and then reads its index anew. */
const UNTIL_SEEN_MS = 2_500;
const RELOAD_TIMEOUT_MS = 60_000;

/** Gives a tag another intention, and waits until the service answers with it from an index that was read since. */
export async function setIntention({ client, service }: World, tag: Tag, intention: Classification): Promise<void> {
  await tagRecords.write(client, [{ ...tag, intention }], Date.now());
  const path = pathOf({ tag, days: 1, width: 3_600, includeIps: false });
  await eventually(async () => expect(await service.get(path)).toContain(`"activity":{"${intention}":`));
  await sleep(UNTIL_SEEN_MS);
  await eventually(
    async () => expect(await service.get("/metrics")).toMatch(/^noisefloor_address_index_up 1$/m),
    RELOAD_TIMEOUT_MS,
  );
}
