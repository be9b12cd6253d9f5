import { z } from "zod";
import { type Draft, toObservation } from "./draft.ts";
import { at, type Fields, portAt, textAt, textsAt, toText } from "./fields.ts";
import type { LogFormat } from "./format.ts";

/** The members that a field map can fill. */
const MEMBERS = [
  "observed_at",
  "sensor_id",
  "source_ip",
  "source_port",
  "destination_port",
  "transport",
  "application",
  "session_id",
  "record_id",
  "username",
  "password",
  "command",
  "url",
  "payload_sha256",
  "label",
  "http_method",
  "http_host",
  "http_target",
  "http_user_agent",
  "http_referer",
  "http_body",
  "ja3",
  "ja4",
  "hassh",
  "ssh_banner",
  "asn",
  "organization",
  "country",
  "city",
  "rdns",
] as const;
const member = z.enum(MEMBERS);
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** A format by configuration: which field of an unlisted sensor's JSON is what. */
export const fieldMapSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "takes lower-case letters, digits and -"),
    description: z.string().default("a field map"),
    /** Paths and the values that they hold in every record of the sensor; `auto` recognises it by them. */
    recognize: z.record(z.string(), scalar.nullable()).default({}),
    /** The path of each member's field, or several of which the first that is there counts. */
    fields: z.partialRecord(member, z.union([z.string(), z.array(z.string()).min(1)])),
    /** Values that hold for every record, like `transport: tcp`. */
    constants: z.partialRecord(member, scalar).default({}),
  })
  .refine(({ fields }) => fields.source_ip !== undefined, { path: ["fields", "source_ip"], error: "is required" });

export type FieldMap = z.output<typeof fieldMapSchema>;

/** The format that a field map describes. A record without a time happened now. */
export function fieldMapFormat({ name, description, recognize, fields, constants }: FieldMap): LogFormat {
  const pathsOf = (name: (typeof MEMBERS)[number]) => [fields[name] ?? []].flat();
  const constant = (name: (typeof MEMBERS)[number]) => toText(constants[name]);
  const signs = Object.entries(recognize);
  const toDraft = (record: Fields, now: number): Draft => {
    const text = (name: (typeof MEMBERS)[number]) => textAt(record, ...pathsOf(name)) ?? constant(name);
    const texts = (name: (typeof MEMBERS)[number]) => [
      ...pathsOf(name).flatMap((path) => textsAt(record, path)),
      ...(constant(name) === undefined ? [] : [constant(name) ?? ""]),
    ];
    const port = (name: "source_port" | "destination_port") =>
      portAt(record, ...pathsOf(name)) ?? portAt({ port: constants[name] }, "port");
    const [username, password] = [text("username"), text("password")];
    const isLogin = username !== undefined || password !== undefined;
    const target = text("http_target");
    const method = text("http_method");
    const id = text("record_id");
    const time = pathsOf("observed_at")
      .map((path) => at(record, path))
      .find((value) => value !== undefined && value !== null);
    return {
      format: name,
      observedAt: time ?? new Date(now).toISOString(),
      sensor: text("sensor_id"),
      sourceIp: text("source_ip"),
      sourceMembers: pathsOf("source_ip"),
      sourcePort: port("source_port"),
      destinationPort: port("destination_port"),
      transport: text("transport"),
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
      ja3: text("ja3"),
      ja4: text("ja4"),
      hassh: text("hassh"),
      sshBanner: text("ssh_banner"),
      asn: text("asn"),
      organization: text("organization"),
      country: text("country"),
      city: text("city"),
      rdns: text("rdns"),
      ...(id !== undefined && { key: [id] }),
    };
  };
  return {
    name,
    description,
    json: {
      signs: signs.map(([path, value]) => `${path} ${JSON.stringify(value)}`).join(", ") || "a record of its field map",
      recognizes: (record) => signs.length > 0 && signs.every(([path, value]) => at(record, path) === value),
      decode(record, options) {
        const source = textAt(record, ...pathsOf("source_ip"));
        if (source !== undefined && options.isOwnAddress(source)) return { ignored: "own-traffic" };
        return toObservation(toDraft(record, options.now()), options);
      },
    },
  };
}
