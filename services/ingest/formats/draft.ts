import { hash } from "node:crypto";
import { HTTP, MEMBERS, SSH, TLS, TRANSPORTS, type Transport } from "@noisefloor/domain/observation/members.ts";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_HEADER_LINES_LENGTH } from "@noisefloor/domain/observation/schema.ts";
import type { TimeZone } from "@noisefloor/domain/time/zone.ts";
import { splitAddress } from "./addresses.ts";
import type { Fields } from "./fields.ts";
import type { Decoded, DecodeOptions } from "./format.ts";
import { readTime } from "./times.ts";

/** What a format found in a record. Texts and lists may be longer than the wire schema's: they are cut. */
export type Draft = {
  readonly format: string;
  readonly observedAt: unknown;
  /** Its times are UTC, though they name no zone, so that no setting changes them. */
  readonly isUtc?: true;
  /** Its program writes UTC without saying so: only a zone that names the sensor or the format changes its times. */
  readonly writesUtc?: true | undefined;
  readonly sensor?: string | undefined;
  readonly sourceIp: string | undefined;
  /** The members that were searched for the source, for people whose record has none of them. */
  readonly sourceMembers: readonly string[];
  readonly sourcePort?: number | undefined;
  /** As the sensor writes it, before ports are rewritten. */
  readonly destinationPort?: number | undefined;
  /** In either case, or its number; see {@link transportOf}. */
  readonly transport?: string | undefined;
  /**
   * Whether the source was in contact: that the sensor accepted its connection, say. Left out, what the record has of
   * the source decides, as `provesContact` has it.
   */
  readonly established?: boolean | undefined;
  readonly application?: string | undefined;
  /** The sensor's id of the session or flow. */
  readonly session?: string | undefined;
  /** What makes the record unique at its sensor; left out, all that the draft says. */
  readonly key?: readonly unknown[];
  readonly credentials?: readonly { readonly username?: string | undefined; readonly password?: string | undefined }[];
  readonly loginAttempts?: number | undefined;
  readonly commands?: readonly string[];
  readonly urls?: readonly string[];
  readonly payloadSha256?: readonly (string | undefined)[];
  readonly labels?: readonly string[];
  readonly http?: HttpDraft | undefined;
  readonly tls?: PartDraft<typeof TLS> | undefined;
  readonly ssh?: PartDraft<typeof SSH> | undefined;
  readonly asn?: string | undefined;
  readonly organization?: string | undefined;
  readonly country?: string | undefined;
  readonly city?: string | undefined;
  readonly rdns?: string | undefined;
  readonly metadata?: Fields | undefined;
};

/** The members of a part of an observation. */
type PartDraft<Part> = { readonly [Name in keyof Part]?: string | undefined };

export type HttpDraft = {
  readonly method?: string | undefined;
  readonly host?: string | undefined;
  /** The request's target: a path with or without a query, or a whole URL. */
  readonly target?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly referer?: string | undefined;
  readonly headers?: readonly string[];
  readonly cookies?: readonly string[];
  /** All header fields with their values, like `Accept: text/html`. */
  readonly headerLines?: readonly string[];
  readonly body?: string | undefined;
};

/** Makes the observation of a draft. */
export function toObservation(draft: Draft, options: DecodeOptions): Decoded {
  if (draft.sourceIp === undefined) return { rejection: noSource(draft.sourceMembers) };
  const named = draft.sensor ?? options.envelope?.sensor;
  const sensor =
    options.sensorId ?? clip(named && withoutControls(named), MEMBERS.session_id.maxLength) ?? draft.format;
  const zone = draft.isUtc ? UTC : options.timeZoneOf?.(sensor, draft.format, draft.writesUtc);
  const { time, isZoneless } = readTime(draft.observedAt ?? options.envelope?.time, options, zone);
  const { address, port } = splitAddress(draft.sourceIp);
  const observation = {
    observed_at: time,
    sensor_id: sensor,
    source_ip: address,
    transport: transportOf(draft.transport),
    source_port: draft.sourcePort ?? port,
    destination_port: draft.destinationPort === undefined ? undefined : options.publicPort(draft.destinationPort),
    application: applicationName(draft.application),
    session_id: clip(draft.session && withoutControls(draft.session), MEMBERS.session_id.maxLength),
    credentials: clipList(draft.credentials, MEMBERS.credentials.maxItems, ({ username, password }) =>
      defined({
        username: clip(username, MEMBERS.credentials.maxLength),
        password: clip(password, MEMBERS.credentials.maxLength),
      }),
    ),
    login_attempts: draft.loginAttempts === 0 ? undefined : draft.loginAttempts,
    commands: clipTexts(draft.commands, MEMBERS.commands.maxItems, MEMBERS.commands.maxLength),
    urls: clipTexts(draft.urls, MEMBERS.urls.maxItems, MEMBERS.urls.maxLength),
    payload_sha256: clipList(draft.payloadSha256?.filter(isSha256), MEMBERS.payload_sha256.maxItems, (digest) =>
      digest?.toLowerCase(),
    ),
    labels: clipTexts(draft.labels?.map(withoutControls), MEMBERS.labels.maxItems, MEMBERS.labels.maxLength),
    http: draft.http && toHttp(draft.http),
    tls: draft.tls && clipPart(draft.tls, TLS),
    ssh: draft.ssh && clipPart(draft.ssh, SSH),
    asn: draft.asn !== undefined && /^(?:AS)?\d{1,9}$/i.test(draft.asn) ? draft.asn : undefined,
    organization: clip(draft.organization, MEMBERS.organization.maxLength),
    country: draft.country !== undefined && /^[A-Z]{2}$/.test(draft.country) ? draft.country : undefined,
    city: clip(draft.city, MEMBERS.city.maxLength),
    rdns: clip(draft.rdns, MEMBERS.rdns.maxLength),
    metadata: draft.metadata && scalars(draft.metadata),
  };
  const content = defined(observation) ?? {};
  const key = JSON.stringify(draft.key === undefined ? content : [draft.format, sensor, ...draft.key]);
  content.observation_id = `raw:${hash("sha256", key).slice(0, 32)}`;
  // After the id is made: records that are stored already keep theirs.
  if (draft.established !== undefined) content.established = draft.established;
  return isZoneless ? { observation: content, isZoneless } : { observation: content };
}

/** The rejection of a record that names no source. */
export function noSource(members: readonly string[]): Rejection {
  return {
    reason: "no-source",
    detail: `the record names no source: ${members.join(", ")} ${members.length > 1 ? "are" : "is"} missing or empty`,
  };
}

function toHttp({ target, ...http }: HttpDraft): Fields | undefined {
  // A whole URL stays one: its sender takes the sensor for a proxy.
  const [path, query] = splitQuery(target);
  return defined({
    method: clip(http.method, HTTP.method.maxLength),
    host: clip(http.host, HTTP.host.maxLength),
    path: clip(path, HTTP.path.maxLength),
    query: clip(query, HTTP.query.maxLength),
    user_agent: clip(http.userAgent, HTTP.user_agent.maxLength),
    referer: clip(http.referer, HTTP.referer.maxLength),
    headers: clipTexts(
      http.headers?.map((name) => name.toLowerCase()),
      HTTP.headers.maxItems,
      HTTP.headers.maxLength,
    ),
    cookies: clipTexts(http.cookies, HTTP.cookies.maxItems, HTTP.cookies.maxLength),
    header_lines: clipHeaderLines(http.headerLines),
    body: clip(http.body, HTTP.body.maxLength),
  });
}

function splitQuery(target: string | undefined): readonly (string | undefined)[] {
  const mark = target?.indexOf("?") ?? -1;
  return mark < 0 ? [target] : [target?.slice(0, mark), target?.slice(mark + 1)];
}

/** The parts of a request's target that a log writes as a whole URL. */
export function splitTarget(target: string | undefined): {
  readonly path?: string | undefined;
  readonly query?: string | undefined;
  readonly host?: string | undefined;
} {
  if (target === undefined) return {};
  const [, host, rest = ""] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is.exec(target) ?? [undefined, undefined, target];
  const [path, query] = splitQuery(rest);
  return {
    path: path === "" ? "/" : path,
    query,
    ...(host && { host }),
  };
}

/** Transports by their names, and by IANA's numbers of protocols. */
const TRANSPORT_NAMES: ReadonlyMap<string, Transport> = new Map([
  ...TRANSPORTS.flatMap((name): [string, Transport][] => [
    [name, name],
    [name.toUpperCase(), name],
  ]),
  ["1", "icmp"],
  ["6", "tcp"],
  ["17", "udp"],
  ["58", "icmp"],
  ["132", "sctp"],
]);

/** The transport that a sensor calls by its name in either case, or by its number; undefined for any other. */
export function transportOf(text: string | undefined): Transport | undefined {
  if (text === undefined) return undefined;
  const name = text.trim().toLowerCase();
  return TRANSPORT_NAMES.get(text) ?? TRANSPORT_NAMES.get(name) ?? (name.includes("icmp") ? "icmp" : undefined);
}

/** That a sensor accepted a connection, which over TCP alone tells that its source was in contact. */
export const acceptedOver = (transport: string | undefined) => (transportOf(transport) === "tcp" ? true : undefined);

const isSha256 = (text: string | undefined) => text !== undefined && /^[0-9a-f]{64}$/i.test(text);

const UTC: TimeZone = (wallMs) => wallMs;

function applicationName(text: string | undefined): string | undefined {
  const name = text?.toLowerCase();
  return name !== undefined && /^[a-z0-9][a-z0-9._-]{0,31}$/.test(name) ? name : undefined;
}

const CONTROL = /\p{Cc}/gu;

/** Identifiers and labels hold no control characters. */
const withoutControls = (text: string) => text.replaceAll(CONTROL, " ");

/** The first characters of a text; undefined for none. Cutting may leave half a surrogate pair. */
function clip(text: string | undefined, length: number): string | undefined {
  if (text === undefined || text === "") return undefined;
  // A copy: a slice would keep the whole text in memory, which may be a mebibyte.
  return text.length <= length ? text.toWellFormed() : Buffer.from(text.slice(0, length)).toString();
}

function clipPart<Name extends string>(
  part: Readonly<Partial<Record<Name, string | undefined>>>,
  members: Readonly<Record<Name, { readonly maxLength: number }>>,
): Fields | undefined {
  let clipped: Record<string, string> | undefined;
  for (const name in members) {
    const text = clip(part[name], members[name].maxLength);
    if (text === undefined) continue;
    clipped ??= {};
    clipped[name] = text;
  }
  return clipped;
}

function clipTexts(texts: readonly string[] | undefined, length: number, each: number): string[] | undefined {
  if (texts === undefined || texts.length === 0) return undefined;
  return clipList(texts.length === 1 ? texts : [...new Set(texts)], length, (text) => clip(text, each));
}

/** These have members of their own. */
const NAMED_HEADER = /^(?:host|user-agent|referer):/i;

function clipHeaderLines(lines: readonly string[] | undefined): string[] | undefined {
  let left = MAX_HEADER_LINES_LENGTH;
  const kept = lines?.filter((line) => !NAMED_HEADER.test(line));
  return clipList(kept && [...new Set(kept)], HTTP.header_lines.maxItems, (line) => {
    const clipped = clip(line, Math.min(HTTP.header_lines.maxLength, left));
    left -= clipped?.length ?? 0;
    return clipped;
  });
}

function clipList<T, U>(values: readonly T[] | undefined, length: number, map: (value: T) => U | undefined) {
  if (values === undefined || values.length === 0) return undefined;
  const list: U[] = [];
  for (const value of values.slice(0, length)) {
    const mapped = map(value);
    if (mapped !== undefined) list.push(mapped);
  }
  return list.length === 0 ? undefined : list;
}

/** The members that have a value; undefined when none has. None may be called `__proto__`. */
export function defined(fields: Fields): Record<string, unknown> | undefined {
  let found: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    found ??= {};
    found[name] = value;
  }
  return found;
}

/** The members that are texts, numbers or booleans: an object would take many times the memory of its bytes. */
function scalars(fields: Fields): Fields | undefined {
  const members: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const scalar = typeof value === "string" ? clip(value, HTTP.body.maxLength) : value;
    if (scalar !== undefined && typeof scalar !== "object") members.push([name, scalar]);
  }
  // A member called __proto__ becomes one, so that validation rejects it.
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
