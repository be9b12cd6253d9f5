import type { Member, MembersOf, MemberType } from "@noisefloor/domain/observation/member.ts";
import {
  FOUND,
  MEMBERS,
  namesOf,
  SOURCE,
  SSH,
  STORED_HTTP,
  TLS,
  VISIT,
} from "@noisefloor/domain/observation/members.ts";
import { shapeOf } from "@noisefloor/domain/observation/schema.ts";
import { z } from "zod";

const text = () => z.string();
const texts = () => z.array(z.string());

/** What the store says of a member of each type. */
const STORED = {
  time: text,
  source: text,
  identifier: text,
  dataset: text,
  workspace: text,
  ip_protocol: text,
  port: () => z.int().nullable(),
  tags: texts,
  protocol_name: text,
  logins: () => z.array(z.object({ username: z.string(), password: z.string() })),
  count: () => z.int(),
  texts,
  identifiers: texts,
  digests: texts,
  text,
  lines: texts,
  body: text,
  as_number: () => z.int(),
  country_code: text,
  latitude: () => z.number(),
  longitude: () => z.number(),
  flag: () => z.boolean(),
  object: text,
  callbacks: () =>
    z.array(
      z.object({
        host: z.string(),
        port: z.int(),
        scheme: z.string(),
        path: z.string(),
        text: z.string(),
        sha256: z.string(),
      }),
    ),
} satisfies Readonly<Record<MemberType, (member: Member) => z.ZodType>>;

const { observed_at: _time, source_ip: _source, ...visit } = VISIT;
const members = { ...visit, ...SOURCE, ...FOUND };

const PARTS = { http: STORED_HTTP, tls: TLS, ssh: SSH } as const;

/** SQL: the columns of a part of an observation as one value, whose members have their names on the wire. */
function partColumn<Table extends MembersOf<Table>>(part: string, table: Table): string {
  const names = Object.keys(table);
  const types = Object.values<Member>(table).map(({ type }) => (STORED[type] === texts ? "Array(String)" : "String"));
  return `CAST(tuple(${names.map((name) => `${part}_${name}`).join(", ")}), 'Tuple(${names
    .map((name, index) => `${name} ${types[index]}`)
    .join(", ")})') AS ${part}`;
}

/** Columns that a stored row has by other names than the table, or in parts of an observation. */
export const RENAMED_COLUMNS = `
  toUnixTimestamp64Milli(observed_at) AS began_at, toString(source_ip) AS ip,
  arrayMap(part -> toString(part), session_parts) AS parts,
  ${Object.entries(PARTS)
    .map(([part, table]) => partColumn(part, table))
    .join(",\n  ")}`;

/** What a stored row says of its observation, for a SELECT: all but when it was received. */
export const OBSERVATION_COLUMNS = `${RENAMED_COLUMNS}, rule_tags, shared_tags, ${Object.keys(members).join(", ")}`;

export const observationColumns = z.object({
  /** Milliseconds since 1970 UTC. */
  began_at: z.int(),
  ip: z.string(),
  parts: texts(),
  rule_tags: texts(),
  shared_tags: texts(),
  ...shapeOf(members, STORED),
  http: z.object(shapeOf(STORED_HTTP, STORED)),
  tls: z.object(shapeOf(TLS, STORED)),
  ssh: z.object(shapeOf(SSH, STORED)),
});

/** A stored row: its observation, where a member that it lacks has the default of its column. */
export type StoredObservation = z.output<typeof observationColumns>;

/** Members of an observation, of which it may lack any. */
export type Reported<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> };

/** The members whose column has the default 0, where the sensor reported nothing. Port 0 is a port. */
const ZERO_IS_NONE: ReadonlySet<string> = new Set(namesOf(MEMBERS, "count", "as_number", "flag"));

/** The members of an object that are no column's default. */
export function reported<Members extends object>(members: Members): Reported<Members> {
  const present: Reported<Members> = {};
  for (const name in members) {
    const value = members[name];
    if (isReported(value) && !((value === 0 || value === false) && ZERO_IS_NONE.has(name))) present[name] = value;
  }
  return present;
}

/** Some members of a row. */
export function pick<Row, Name extends keyof Row>(row: Row, names: readonly Name[]): Partial<Pick<Row, Name>> {
  const members: Partial<Pick<Row, Name>> = {};
  for (const name of names) members[name] = row[name];
  return members;
}

function isReported<Value>(value: Value): value is NonNullable<Value> {
  if (value === null || value === undefined || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
