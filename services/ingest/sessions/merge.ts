import { createHash } from "node:crypto";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import {
  MAX_HEADER_LINES_LENGTH,
  MAX_ITEMS,
  MAX_LOGIN_ATTEMPTS,
  MAX_METADATA_BYTES,
} from "@noisefloor/domain/observation/schema.ts";
import type { KeptBody } from "../observation-row.ts";

/** Of so many records of a session that count logins, each is counted once however often it comes. */
const MAX_PARTS = 256;

type Observation = ValidObservation["observation"];
type Credential = NonNullable<Observation["credentials"]>[number];

/** What is known of a session: the observation that it is stored as. */
export type SessionState = {
  readonly observation: Observation;
  /** When its first record came, in milliseconds since 1970 UTC: part of the row's key, so it stays. */
  readonly observedAt: number;
  /** Digests of the records whose logins are counted. */
  readonly parts: ReadonlySet<string>;
  /** Those that its senders named. */
  readonly tagIds: readonly string[];
  /** Those that rules have given it so far: all states of a session share the set. */
  readonly ruleTagIds: Set<string>;
  /** What was kept of a body that a record of an earlier batch had. */
  readonly body?: KeptBody | undefined;
};

/** One record of a session. */
export type SessionPart = {
  readonly valid: ValidObservation;
  /** Its own id, the same whenever the record comes again. */
  readonly recordId: string;
  readonly tagIds: readonly string[];
};

/**
 * Adds a record to a session. Whatever comes twice changes nothing: lists are sets, of single values the first one
 * known counts, and each login is counted once.
 */
export function mergePart(session: SessionState | undefined, { valid, recordId, tagIds }: SessionPart): SessionState {
  const digest = digestOf(recordId);
  const isCounted = (valid.observation.login_attempts ?? 0) > 0;
  if (session === undefined) {
    const { observation, observedAt } = valid;
    return { observation, observedAt, parts: new Set(isCounted ? [digest] : []), tagIds, ruleTagIds: new Set() };
  }
  const isNew = isCounted && !session.parts.has(digest) && session.parts.size < MAX_PARTS;
  const [known, added] = [session.observation, valid.observation];
  const attempts = (known.login_attempts ?? 0) + (isNew ? (added.login_attempts ?? 0) : 0);
  const http = both(known.http, added.http, (one, other) => ({
    ...other,
    ...one,
    headers: union(one.headers, other.headers, MAX_ITEMS.headers),
    cookies: union(one.cookies, other.cookies, MAX_ITEMS.cookies),
    header_lines: firstOf(union(one.header_lines, other.header_lines, MAX_ITEMS.headerLines)),
  }));
  const observation: Observation = {
    ...added,
    ...known,
    tags: [],
    login_attempts: attempts === 0 ? undefined : Math.min(attempts, MAX_LOGIN_ATTEMPTS),
    credentials: union(known.credentials, added.credentials, MAX_ITEMS.credentials, textOfLogin),
    commands: union(known.commands, added.commands, MAX_ITEMS.commands),
    urls: union(known.urls, added.urls, MAX_ITEMS.urls),
    payload_sha256: union(known.payload_sha256, added.payload_sha256, MAX_ITEMS.payload_sha256),
    labels: union(known.labels, added.labels, MAX_ITEMS.labels),
    http,
    tls: both(known.tls, added.tls, (one, other) => ({ ...other, ...one })),
    ssh: both(known.ssh, added.ssh, (one, other) => ({ ...other, ...one })),
    metadata: both(known.metadata, added.metadata, (one, other) => withinLimit({ ...other, ...one }, one)),
  };
  return {
    ...session,
    observation,
    parts: isNew ? new Set([...session.parts, digest]) : session.parts,
    tagIds: [...new Set([...session.tagIds, ...tagIds])],
  };
}

/** 64 bits of a record's id, as a decimal number: how the column `session_parts` spells it. */
function digestOf(recordId: string): string {
  return createHash("sha256").update(recordId).digest().readBigUInt64BE(0).toString();
}

function both<T>(one: T | undefined, other: T | undefined, merge: (one: T, other: T) => T): T | undefined {
  if (one === undefined) return other;
  return other === undefined ? one : merge(one, other);
}

/** The first values of two lists that are distinct, by their keys. */
function union<T>(
  one: readonly T[] | undefined,
  other: readonly T[] | undefined,
  most: number,
  keyOf: (value: T) => unknown = (value) => value,
): T[] | undefined {
  if (one === undefined && other === undefined) return undefined;
  const values = new Map<unknown, T>();
  for (const value of [...(one ?? []), ...(other ?? [])]) {
    const key = keyOf(value);
    if (!values.has(key)) values.set(key, value);
    if (values.size === most) break;
  }
  return [...values.values()];
}

/** The same for what is stored alike: in any order of its members, an empty text or none. */
function textOfLogin({ username = "", password = "" }: Credential): string {
  return JSON.stringify([username, password]);
}

/** As many header lines as an observation may have. */
function firstOf(lines: string[] | undefined): string[] | undefined {
  let length = 0;
  return lines?.filter((line) => {
    length += line.length;
    return length <= MAX_HEADER_LINES_LENGTH;
  });
}

function withinLimit(merged: Record<string, unknown>, known: Record<string, unknown>): Record<string, unknown> {
  return Buffer.byteLength(JSON.stringify(merged)) <= MAX_METADATA_BYTES ? merged : known;
}
