import { hash } from "node:crypto";
import { FOUND, HTTP, MEMBERS, namesOf } from "@noisefloor/domain/observation/members.ts";
import { type Callback, keyOfCallback } from "@noisefloor/domain/callbacks/callback.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import {
  MAX_HEADER_LINES_LENGTH,
  MAX_LOGIN_ATTEMPTS,
  MAX_METADATA_BYTES,
} from "@noisefloor/domain/observation/schema.ts";
import type { KeptBody } from "../observation-row.ts";
import { contradictsConnection } from "./further.ts";

/** How many records with logins a session remembers, so that each is counted once however often it comes. */
const MAX_PARTS = 256;

const LISTS = namesOf(MEMBERS, "texts", "identifiers", "digests");
const HTTP_LISTS = namesOf(HTTP, "texts");

type Observation = ValidObservation["observation"];
type Credential = NonNullable<Observation["credentials"]>[number];
type Http = NonNullable<Observation["http"]>;

/** What is known of a session, or of one of its further requests: the observation that it is stored as. */
export type SessionState = {
  readonly observationId: string;
  readonly observation: Observation;
  /** When its first record came, in milliseconds since 1970 UTC: part of the row's key, so it stays. */
  readonly observedAt: number;
  /** Digests of the records whose logins are counted. */
  readonly parts: ReadonlySet<string>;
  /** Those that its senders named. */
  readonly tagIds: readonly string[];
  readonly callbacks: readonly Callback[];
  /** Those that rules have given it so far: all states of a session share the set. */
  readonly ruleTagIds: Set<string>;
  /** What was kept of a body that a record of an earlier batch had. */
  readonly body?: KeptBody | undefined;
  /** When its row was stored, in milliseconds since 1970 UTC; left out for one that this process begins. */
  readonly storedAt?: number | undefined;
};

/** One record of a session. */
export type SessionPart = {
  readonly valid: ValidObservation;
  /** The id that the session's row is stored under. */
  readonly observationId: string;
  /** Its own id, the same whenever the record comes again. */
  readonly recordId: string;
  readonly tagIds: readonly string[];
  readonly callbacks: readonly Callback[];
};

/**
 * Adds a record that does not contradict the session. Whatever comes twice changes nothing: lists are sets, each login
 * is counted once, and of single values the better or the lesser one counts, whichever came first.
 */
export function mergePart(session: SessionState | undefined, part: SessionPart): SessionState {
  const { valid, observationId, recordId, tagIds, callbacks } = part;
  const counted = (valid.observation.login_attempts ?? 0) > 0 ? digestOf(recordId) : undefined;
  if (session === undefined) {
    const { observation, observedAt } = valid;
    const parts = new Set(counted === undefined ? [] : [counted]);
    return { observationId, observation, observedAt, parts, tagIds, callbacks, ruleTagIds: new Set() };
  }
  const { parts } = session;
  const isNew = counted !== undefined && !parts.has(counted) && parts.size < MAX_PARTS;
  const [known, added] = [session.observation, valid.observation];
  const attempts = (known.login_attempts ?? 0) + (isNew ? (added.login_attempts ?? 0) : 0);
  const observation: Observation = {
    ...added,
    ...known,
    tags: [],
    source_port: least(known.source_port, added.source_port),
    transport: least(known.transport, added.transport),
    established: known.established === true || added.established === true,
    application: betterApplication(known.application, added.application),
    login_attempts: attempts === 0 ? undefined : Math.min(attempts, MAX_LOGIN_ATTEMPTS),
    credentials: union(known.credentials, added.credentials, MEMBERS.credentials.maxItems, textOfLogin),
    ...unions(known, added, LISTS, MEMBERS),
    http: both(known.http, added.http, mergeHttp),
    tls: both(known.tls, added.tls, stated),
    ssh: both(known.ssh, added.ssh, stated),
    metadata: both(known.metadata, added.metadata, (one, other) => withinLimit({ ...other, ...one }, one)),
  };
  return {
    ...session,
    observation,
    parts: isNew ? new Set([...parts, counted]) : parts,
    callbacks: union([...session.callbacks], [...callbacks], FOUND.callbacks.maxItems, keyOfCallback) ?? [],
    tagIds: tagIds.length === 0 ? session.tagIds : [...new Set([...session.tagIds, ...tagIds])],
  };
}

/** A further observation of a session, with what the session knows of their connection. */
export function withConnection(further: SessionState, { observation: session }: SessionState): SessionState {
  const own = further.observation;
  if (contradictsConnection(own, session)) return further;
  const observation: Observation = {
    ...own,
    ...firstStated(own, session, [...namesOf(MEMBERS, "port"), ...namesOf(MEMBERS, "ip_protocol")]),
    application: betterApplication(own.application, session.application),
    tls: both(own.tls, session.tls, stated),
    ssh: both(own.ssh, session.ssh, stated),
  };
  return { ...further, observation };
}

/** Some members, each of the first of the two that has it. */
function firstStated<Name extends keyof Observation>(one: Observation, other: Observation, names: readonly Name[]) {
  const members: Partial<Pick<Observation, Name>> = {};
  for (const name of names) members[name] = one[name] ?? other[name];
  return members;
}

function mergeHttp(one: Http, other: Http): Http {
  return {
    ...stated(one, other),
    ...unions(one, other, HTTP_LISTS, HTTP),
    header_lines: firstOf(union(one.header_lines, other.header_lines, HTTP.header_lines.maxItems)),
  };
}

/** All members: of those that both have, the first one's, unless that is an empty text. */
function stated<T extends object>(one: T, other: T): T {
  return { ...other, ...Object.fromEntries(Object.entries(one).filter(([, value]) => value !== "")) };
}

function least<T extends string | number>(one: T | undefined, other: T | undefined): T | undefined {
  return both(one, other, (first, second) => (second < first ? second : first));
}

/** 64 bits of a record's id, as a decimal number: how the column `session_parts` spells it. */
function digestOf(recordId: string): string {
  return hash("sha256", recordId, "buffer").readBigUInt64BE(0).toString();
}

function both<T>(one: T | undefined, other: T | undefined, merge: (one: T, other: T) => T): T | undefined {
  if (one === undefined) return other;
  return other === undefined ? one : merge(one, other);
}

/** The first values of two lists that are distinct, by their keys. */
function union<T>(
  one: T[] | undefined,
  other: T[] | undefined,
  maxValues: number,
  keyOf: (value: T) => unknown = (value) => value,
): T[] | undefined {
  const [list, more = []] = one === undefined ? [other] : [one, other];
  if (list === undefined || (more.length === 0 && list.length < 2)) return list;
  const values = new Map<unknown, T>();
  for (const value of [...list, ...more]) {
    const key = keyOf(value);
    if (!values.has(key)) values.set(key, value);
    if (values.size === maxValues) break;
  }
  return [...values.values()];
}

type Lists<Name extends string> = { [List in Name]?: string[] | undefined };

/** The {@link union} of each list that one of the two has. */
function unions<Name extends string>(
  one: Lists<Name>,
  other: Lists<Name>,
  names: readonly Name[],
  limits: Readonly<Record<Name, { readonly maxItems: number }>>,
): Lists<Name> {
  const merged: Lists<Name> = {};
  for (const name of names) {
    const list = union(one[name], other[name], limits[name].maxItems);
    if (list !== undefined) merged[name] = list;
  }
  return merged;
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

/** Names of a transport, of a log or of a guess that failed: they say nothing about what was spoken. */
const GENERIC = new Set([
  ...["tcp", "udp", "sctp", "icmp", "ip", "ipv4", "ipv6"],
  ...["unknown", "unassigned", "undefined", "none", "other", "failed", "data", "generic"],
  ...["alert", "analyzer", "anomaly", "conn", "connection", "dpd", "drop", "event", "fileinfo", "files", "flow"],
  ...["netflow", "notice", "packet", "session", "tunnel", "weird"],
]);
/** What other protocols are spoken in. */
const ENVELOPES = new Set(["tls", "ssl", "dtls", "quic"]);

const rankOf = (name: string) => (GENERIC.has(name) ? 0 : ENVELOPES.has(name) ? 1 : 2);

/** The more specific of two names of one session's application, whichever came first. */
export function betterApplication(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || one === other) return other;
  if (other === undefined) return one;
  const difference = rankOf(one) - rankOf(other);
  if (difference !== 0) return difference > 0 ? one : other;
  return one < other ? one : other;
}
