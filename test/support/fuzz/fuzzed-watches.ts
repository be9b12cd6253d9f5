import { randomUUID } from "node:crypto";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { appendLook } from "@noisefloor/clickhouse/watches/log.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import fc from "fast-check";
import { makeWatch } from "../worlds/watching-process.ts";
import type { World } from "../worlds/world.ts";

const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
/** Requests change these, read those, and delete others. */
const [CHANGED, READ, OF_FILE, EVENT] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const DELETED = ids(40);
/** Nothing listens there. */
export const CLOSED: Destination = {
  ...{ type: "webhook", id: "closed", isOff: false, addedAt: 0, url: "http://127.0.0.1:9/", format: "standard" },
  secret: `whsec_${Buffer.alloc(24).toString("base64")}`,
};

/** Watches, and an event, that requests with the key of a workspace find. */
export async function makeWatches({ client, watches }: World, workspaceId: string, now: number): Promise<void> {
  const on = { type: "network_seen" as const, networks: ["198.51.100.0/24"] };
  const made = [CHANGED, READ, ...DELETED].map((id) => makeWatch(workspaceId, on, { id, deliver: [CLOSED] }));
  const ofFile = makeWatch(workspaceId, on, { id: OF_FILE, origin: "file" });
  await watchDefinitions.write(client, [...made, ofFile], now);
  const event: WatchEvent = {
    id: EVENT,
    type: "test",
    watch: { id: READ, name: "read" },
    detected_at: formatTimestamp(now),
    summary: "seen",
    link: "",
    data: {},
  };
  const stored = { id: EVENT, workspaceId, watchId: READ, body: JSON.stringify(event), subjects: [], times: [] };
  await appendLook(client, { holder: "", position: "", events: [stored] }, undefined);
  await watches.cache.refresh();
}

/** Most requests have no key of the workspace. */
const mostly = (id: string, ...others: string[]) => fc.constantFrom(...Array<string>(12).fill(id), ...others);
const read = mostly(READ, "none");
const changed = mostly(CHANGED, OF_FILE, "none");

/** What requests name. */
export const WATCH_TEXTS = {
  "getWatch.id": read,
  "listEventsOfWatch.id": read,
  "listWatchDeliveries.id": read,
  "retryWatchDelivery.id": read,
  "retryWatchDelivery.event_id": mostly(EVENT, "none"),
  "testWatch.id": mostly(READ, OF_FILE, "none"),
  "putWatch.id": changed,
  "patchWatch.id": changed,
  "deleteWatch.id": fc.constantFrom(...DELETED, OF_FILE, "none"),
  after: fc.constant(""),
};

/** Likely members of bodies. */
export const WATCH_MEMBERS = {
  networks: fc.constantFrom(["198.51.100.0/24"], ["45.7.0.0/16", "8.8.8.8"]),
  tag: fc.constantFrom("worm", "scanner"),
  deliver: fc.constantFrom([], [{ type: "slack", url: "https://hooks.example.org/" }]),
};
