import { SSH, TLS } from "@noisefloor/domain/observation/members.ts";
import type { Draft } from "../draft.ts";
import { at, type Fields, portAt, textAt, textsAt, toText } from "../fields.ts";
import { type FieldMap, MAPPED_MEMBERS, type MappedMember } from "./schema.ts";

type Source = {
  readonly paths: readonly string[];
  /** The value where no path holds one. */
  readonly constant: string | undefined;
};
const NOWHERE: Source = { paths: [], constant: undefined };

/** Finds the members of a field map in records. A record without a time happened now. */
export function draftReader({
  name: format,
  fields,
  constants,
  utc,
}: FieldMap): (record: Fields, now: number) => Draft {
  const sources = new Map(
    MAPPED_MEMBERS.map((member): [MappedMember, Source] => [
      member,
      { paths: [fields[member] ?? []].flat(), constant: textOf(constants[member]) },
    ]),
  );
  const sourceOf = (member: MappedMember) => sources.get(member) ?? NOWHERE;
  const sourceMembers = sourceOf("source_ip").paths;
  return (record, now) => {
    const text = (member: MappedMember) => {
      const { paths, constant } = sourceOf(member);
      return paths.length === 0 ? constant : (textAt(record, ...paths) ?? constant);
    };
    const texts = (member: MappedMember) => {
      const { paths, constant } = sourceOf(member);
      return [...paths.flatMap((path) => textsAt(record, path)), ...(constant === undefined ? [] : [constant])];
    };
    const port = (member: "source_port" | "destination_port") => {
      const { paths, constant } = sourceOf(member);
      return portAt(record, ...paths) ?? (constant === undefined ? undefined : portAt({ constant }, "constant"));
    };
    const flag = (member: "established") => {
      const { paths, constant } = sourceOf(member);
      const values = [...paths.map((path) => textOf(at(record, path))?.toLowerCase()), constant];
      return FLAGS.get(values.find((value) => value !== undefined && FLAGS.has(value)) ?? "");
    };
    const time = sourceOf("observed_at")
      .paths.map((path) => at(record, path))
      .find((value) => value !== undefined && value !== null && value !== "");
    const [username, password] = [text("username"), text("password")];
    const isLogin = username !== undefined || password !== undefined;
    const [method, target] = [text("http_method"), text("http_target")];
    const id = text("record_id");
    return {
      format,
      observedAt: time ?? new Date(now).toISOString(),
      writesUtc: utc || undefined,
      sensor: text("sensor_id"),
      sourceIp: text("source_ip"),
      sourceMembers,
      sourcePort: port("source_port"),
      destinationPort: port("destination_port"),
      transport: text("transport"),
      established: flag("established"),
      application: text("application"),
      session: text("session_id"),
      credentials: isLogin ? [{ username, password }] : [],
      loginAttempts: isLogin ? 1 : 0,
      commands: texts("command"),
      urls: texts("url"),
      payloadSha256: texts("payload_sha256"),
      labels: texts("label"),
      http:
        target === undefined && method === undefined
          ? undefined
          : {
              method,
              target,
              host: text("http_host"),
              userAgent: text("http_user_agent"),
              referer: text("http_referer"),
              body: text("http_body"),
            },
      tls: mapped(TLS, text),
      ssh: mapped(SSH, text),
      asn: text("asn"),
      organization: text("organization"),
      country: text("country"),
      city: text("city"),
      rdns: text("rdns"),
      ...(id !== undefined && { key: [id] }),
    };
  };
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

const textOf = (value: unknown) => (typeof value === "boolean" ? String(value) : toText(value));

/** The members of a part of an observation. */
function mapped<Name extends string>(
  part: Readonly<Record<Name, { readonly rules: readonly MappedMember[] }>>,
  text: (member: MappedMember) => string | undefined,
) {
  const members: Partial<Record<Name, string | undefined>> = {};
  for (const name in part) members[name] = part[name].rules.map(text).find((value) => value !== undefined);
  return members;
}
