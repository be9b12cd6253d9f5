import { hash } from "node:crypto";
import { HTTP, namesOf, SSH, TLS } from "@noisefloor/domain/observation/members.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import type { KeptBody } from "../observation-row.ts";

const REQUEST = namesOf(HTTP, "text");
const TLS_NAMES = namesOf(TLS, "text");
const SSH_NAMES = namesOf(SSH, "text");

type Observation = ValidObservation["observation"];
type Http = NonNullable<Observation["http"]>;

/** A session's observation, and what was kept of its request's body. */
export type HeldObservation = { readonly observation: Observation; readonly body?: KeptBody | undefined };

/**
 * Whether a record says something else than the session's observation, of which there can be only one there: another
 * request, port or fingerprint. Then neither replaces the other, and the record belongs to a further observation.
 */
export function contradicts({ observation, body }: HeldObservation, added: Observation): boolean {
  if (contradictsConnection(observation, added)) return true;
  const { http } = observation;
  return http !== undefined && added.http !== undefined && contradictsRequest(http, body, added.http);
}

/** Whether two observations are of different connections. */
export function contradictsConnection(one: Observation, other: Observation): boolean {
  return (
    differ(one.destination_port, other.destination_port) ||
    TLS_NAMES.some((name) => differ(one.tls?.[name], other.tls?.[name])) ||
    SSH_NAMES.some((name) => differ(one.ssh?.[name], other.ssh?.[name]))
  );
}

function contradictsRequest(one: Http, body: KeptBody | undefined, other: Http): boolean {
  return (
    REQUEST.some((name) => name !== "query" && differ(one[name], other[name])) ||
    queriesDiffer(queryOf(one), queryOf(other)) ||
    (isStated(other.body) && differ(body?.sha256 ?? digestOf(one.body), digestOf(other.body)))
  );
}

/** A path without a query has none. */
const queryOf = ({ path, query }: Http) => (isStated(path) ? (query ?? "") : query || undefined);
const queriesDiffer = (one: string | undefined, other: string | undefined) =>
  one !== other && one !== undefined && other !== undefined;

/**
 * The id of the further observation of a session that a record belongs to: first, of its request; where that one
 * contradicts the record, too, of all that it says. A tab, which no stated id contains, begins what is added.
 * @returns undefined when there is no further one: then none can contradict the record.
 */
export function furtherIdOf(sessionId: string, observation: Observation, level: number): string | undefined {
  const identity = IDENTITIES[level]?.(observation);
  if (identity === undefined) return undefined;
  const values = identity.map((value) => value ?? "");
  return `${sessionId}\t${hash("sha256", JSON.stringify(values)).slice(0, 32)}`;
}

const requestOf = ({ http }: Observation) => [http?.method, http?.host, http?.path, http?.query];

/** Members of TLS without a place in stored ids: only the ids of observations that have them differ by them. */
const furtherTls = ({ tls }: Observation) =>
  TLS_NAMES.flatMap((name) => (name === "ja3" || name === "ja4" || !tls?.[name] ? [] : [`${name}=${tls[name]}`]));

const IDENTITIES: readonly ((observation: Observation) => readonly (string | number | undefined)[])[] = [
  requestOf,
  (observation) => {
    const { http, ssh, tls, destination_port } = observation;
    const details = [http?.user_agent, http?.referer, http?.body];
    const fingerprints = [ssh?.banner, ssh?.hassh, tls?.ja3, tls?.ja4, ...furtherTls(observation)];
    return [...requestOf(observation), ...details, destination_port, ...fingerprints];
  },
];

/** The store does not tell an empty text from none. */
const isStated = (value: string | number | undefined) => value !== undefined && value !== "";

function differ(one: string | number | undefined, other: string | number | undefined): boolean {
  return one !== other && isStated(one) && isStated(other);
}

const digestOf = (body: string | undefined) => (body ? hash("sha256", body) : undefined);
