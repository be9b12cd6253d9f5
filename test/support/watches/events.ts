import { randomUUID } from "node:crypto";
import type { LoggedEvent } from "@noisefloor/clickhouse/watches/log.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination, Watch } from "@noisefloor/domain/watches/watch.ts";

export const WORKSPACE = "soc";

/** An event of a watch, as the log has it. */
export function loggedEvent(watch: Watch, at: number, look: number, summary = "198.51.100.7 was seen"): LoggedEvent {
  return logged(networkEvent(watch, at, summary), watch, look);
}

export const logged = (event: WatchEvent, watch: Pick<Watch, "id" | "workspaceId">, look: number): LoggedEvent => ({
  ...{ id: event.id, workspaceId: watch.workspaceId, watchId: watch.id, body: JSON.stringify(event) },
  ...{ look, index: 0 },
});

/** An event that tells of one address of a watched network. */
export const networkEvent = (
  { id, name }: Pick<Watch, "id" | "name">,
  at: number,
  summary = "198.51.100.7 of the watched network 198.51.100.0/24 was seen: SSH Bruteforcer",
): WatchEvent => ({
  id: randomUUID(),
  type: "network_seen",
  watch: { id, name },
  detected_at: new Date(at).toISOString(),
  summary,
  link: `https://noise.example.org/watches/${id}`,
  data: {
    count: 1,
    truncated: false,
    addresses: [
      {
        ip: "198.51.100.7",
        network: "198.51.100.0/24",
        first_seen: new Date(at - 60_000).toISOString(),
        last_seen: new Date(at).toISOString(),
        classification: "malicious",
        tags: ["ssh-bruteforcer"],
      },
    ],
  },
});

export const watchWith = (deliver: readonly Destination[], more: Partial<Watch> = {}): Watch => ({
  ...{ id: randomUUID(), workspaceId: WORKSPACE, name: "one of ours scans", origin: "api" },
  ...{ on: { type: "network_seen", networks: ["198.51.100.0/24"] }, repeatAfterHours: 24, isEnabled: true, deliver },
  ...{ sinceAt: 0, createdAt: 0, updatedAt: 0 },
  ...more,
});

/** What all destinations have. */
export const destinationHead = (id: string) => ({ id, isOff: false, addedAt: 0 });
