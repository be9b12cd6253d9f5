import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";

/** An event on its way to a destination. */
export type Message = {
  readonly event: WatchEvent;
  /** The event's JSON as it is stored. */
  readonly body: string;
  readonly workspaceId: string;
};
