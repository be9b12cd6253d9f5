import { hash } from "node:crypto";
import type { Callback } from "@noisefloor/domain/callbacks/callback.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";

/** How many characters of a request's body are kept, for people to read. */
const BODY_HEAD_LENGTH = 256;

/** A row of the table `observations`. */
export type ObservationRow = ReturnType<typeof toRow>;

/** What is kept of a request's body. */
export type KeptBody = { readonly head: string; readonly sha256: string };

/** What a row says besides its observation. */
export type RowIdentity = {
  readonly observationId: string;
  /** The name of the format of its record. */
  readonly format?: string | undefined;
  readonly tagIds: readonly string[];
  /** Those of the tags that tagging rules gave. */
  readonly ruleTagIds?: readonly string[];
  /** Those of `ruleTagIds` that the sender named, too. */
  readonly sharedTagIds?: readonly string[];
  /** Digests of the records that a session's row is made of, as decimal numbers of 64 bits. */
  readonly sessionParts?: readonly string[];
  readonly callbacks?: readonly Callback[] | undefined;
  /** What was kept of a body that the observation no longer has. */
  readonly body?: KeptBody | undefined;
  /** When the row that it replaces was stored, in milliseconds since 1970 UTC. */
  readonly replacesStoredAt?: number | undefined;
};

/** The row of an accepted observation. Members that it lacks are left out, so that the columns' defaults apply. */
export function toRow({ observation, observedAt }: ValidObservation, identity: RowIdentity) {
  // To replace a member that a spread has copied takes V8 ten times as long as to leave it out.
  const { observation_id: _id, observed_at: _at, tags: _tags, metadata, ...members } = observation;
  return {
    observation_id: identity.observationId,
    /** Milliseconds since 1970 UTC. */
    observed_at: observedAt,
    format: identity.format,
    tags: identity.tagIds,
    rule_tags: identity.ruleTagIds,
    shared_tags: identity.sharedTagIds,
    session_parts: identity.sessionParts,
    // Left out where there are none, so that a batch without any writes defaults alone.
    callbacks: identity.callbacks?.length === 0 ? undefined : identity.callbacks,
    body: members.http?.body ? keepBody(members.http.body) : identity.body,
    replaces_stored_at: identity.replacesStoredAt,
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    ...members,
  };
}

/** Its digest and its first characters, a dot for each that cannot be printed. Cutting may leave half a surrogate pair. */
function keepBody(body: string): KeptBody {
  const head = body.slice(0, BODY_HEAD_LENGTH).replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, ".");
  return { head: head.toWellFormed(), sha256: hash("sha256", body) };
}
