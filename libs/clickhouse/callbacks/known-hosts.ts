import type { OwnKnownHost } from "@noisefloor/domain/callbacks/known-hosts.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineRecords } from "../records/define-records.ts";
import { defineWorkspaceChanges } from "../records/workspace-changes.ts";

const knownHostSchema = z.object({
  id: z.string(),
  workspaceId: z.string(),
  /** A name or an address, as {@link OwnKnownHost} has it. */
  host: z.string(),
  note: z.string(),
  /** Milliseconds since 1970 UTC. */
  createdAt: z.int(),
});
/** A host of code or files that a workspace added to those that come along. */
export type StoredKnownHost = z.infer<typeof knownHostSchema>;

const changes = defineWorkspaceChanges("known_callback_hosts");

/** When each workspace changed its known hosts last. */
export const readKnownHostChanges = changes.read;

/** The known hosts of all workspaces. */
export const knownHosts = defineRecords({
  table: "known_callback_hosts",
  row: knownHostSchema,
  id: "id",
  columns: { id: "known_id" },
  orderBy: "host",
  forget: { afterDays: 90, unless: changes.isNewest },
});

type Owned = OwnKnownHost & { readonly workspaceId: string };

const withId = (known: Owned): StoredKnownHost => ({ ...known, id: `${known.workspaceId}/${known.host}` });

/** Adds a host, or replaces the workspace's note of it. */
export const writeKnownHost = async (client: ClickHouseClient, known: Owned, now: number): Promise<void> =>
  knownHosts.write(client, [withId(known)], await changes.nextTime(client, known.workspaceId, now));

export const deleteKnownHost = async (client: ClickHouseClient, known: Owned, now: number): Promise<void> =>
  knownHosts.delete(client, [withId(known)], await changes.nextTime(client, known.workspaceId, now));
