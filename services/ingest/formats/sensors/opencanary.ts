import { acceptedOver, type Draft, type HttpDraft, toObservation } from "../draft.ts";
import { type Fields, objectAt, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readRedisCommand } from "./honeypots/redis.ts";
import { MAX_PAYLOAD_LENGTH, readHeaderFields, readPayload, toHeaderFields } from "./payload.ts";

/** Its other types of this thousand are port scans. */
const SMB = 5_000;
/** The thousand of the last service that it has. */
const LAST_SERVICE = 20;
/** The protocol that a log type stands for: of a single number, else of its thousand. */
const APPLICATIONS: ReadonlyMap<number, string> = new Map([
  [2, "ftp"],
  [3, "http"],
  [4, "ssh"],
  [6, "telnet"],
  [7, "http"],
  [8, "mysql"],
  [9, "mssql"],
  [10, "tftp"],
  [11, "ntp"],
  [12, "vnc"],
  [13, "snmp"],
  [14, "rdp"],
  [15, "sip"],
  [16, "git"],
  [17, "redis"],
  [19, "llmnr"],
  [20, "mongodb"],
  [SMB, "smb"],
  [9_003, "mysql"],
]);
/** The thousands of what is spoken over UDP. */
const OVER_UDP = new Set([10, 11, 13, 15, 19]);
/** The thousands of what is no connection or, as a request, a record of its own: port scans, HTTP. */
const WITHOUT_SESSION = new Set([...OVER_UDP, 3, 5, 7]);
/** Attempts to log in, also those without a name or password. */
const LOGINS = new Set([2_000, 4_002, 6_001, 7_001, 8_001, 9_001, 9_002, 12_001]);
const MYSQL_LOGIN = 8_001;
const HTTP_GET = 3_000;
const HTTP_LOGIN = 3_001;
/** Below this OpenCanary reports about itself. */
const FIRST_EVENT = 2_000;
/** What it writes where a client sent nothing that can be read. */
const PLACEHOLDERS = new Set([
  "<not supplied>",
  "<Password was not in the common list>",
  "Invalid auth-token submitted",
]);

/** OpenCanary's JSON log. */
export const opencanary: LogFormat = {
  name: "opencanary",
  description: "OpenCanary's JSON log",
  json: {
    signs: "a number as logtype, src_host, and logdata or node_id",
    recognizes: (record) =>
      "src_host" in record &&
      /^\d+$/.test(textAt(record, "logtype") ?? "") &&
      ("logdata" in record || "node_id" in record),
    decode: decodeOpencanary,
  },
};

function decodeOpencanary(record: Fields, options: DecodeOptions): Decoded {
  const type = Number(textAt(record, "logtype"));
  if (type < FIRST_EVENT) return { ignored: "about-sensor" };
  const data = objectAt(record, "logdata");
  if (textAt(data, "action") === "mongodb.disconnect") return { ignored: "no-behaviour" };
  const thousand = Math.floor(type / 1_000);
  const isBannerData = thousand === 18 && textAt(data, "FUNCTION") === "DATA_RECEIVED";
  const sent = isBannerData ? readPayload(Buffer.from(textAt(data, "DATA")?.slice(0, MAX_PAYLOAD_LENGTH) ?? "")) : {};
  const http = thousand === 15 ? sipRequestOf(data) : httpOf(data, type);
  const transport = textAt(data, "PROTO") ?? (OVER_UDP.has(thousand) ? "udp" : "tcp");
  return toObservation(
    {
      format: "opencanary",
      // Its local_time is UTC as well.
      isUtc: true,
      observedAt: record.utc_time ?? record.local_time_adjusted ?? record.local_time,
      sensor: textAt(record, "node_id"),
      sourceIp: textAt(record, "src_host"),
      sourceMembers: ["src_host"],
      sourcePort: portAt(record, "src_port"),
      destinationPort: portAt(record, "dst_port"),
      transport,
      established: isService(type, thousand) ? acceptedOver(transport) : undefined,
      session: WITHOUT_SESSION.has(thousand) ? undefined : connectionOf(record),
      ...loginOf(data, type),
      ...commandsOf(data),
      labels: [`opencanary:${type}`],
      ssh: { banner: textAt(data, "REMOTEVERSION") },
      ...sent,
      application: APPLICATIONS.get(type) ?? APPLICATIONS.get(thousand) ?? sent.application,
      http: http ?? sent.http,
    },
    options,
  );
}

/** Whether one of its services logged it: port scans are packets, and types of one's own may be anything. */
const isService = (type: number, thousand: number) => type === SMB || (thousand !== 5 && thousand <= LAST_SERVICE);

/** Its records name no session: those of one connection share its ports. */
function connectionOf(record: Fields): string | undefined {
  const [from, to] = [portAt(record, "src_port"), portAt(record, "dst_port")];
  return from && to ? `${from}-${textAt(record, "dst_host") ?? ""}:${to}` : undefined;
}

/** The text at a path, unless it stands for an absent value. */
function given(data: Fields, ...paths: readonly string[]): string | undefined {
  const text = textAt(data, ...paths);
  return text === undefined || PLACEHOLDERS.has(text) ? undefined : text;
}

function loginOf(data: Fields, type: number): Pick<Draft, "credentials" | "loginAttempts"> {
  const isMongodb = textAt(data, "action") === "mongodb.auth_attempt";
  const user = isMongodb ? textAt(data, "username") : given(data, "USERNAME", "UserName");
  const username = isMongodb && user === "unknown" ? undefined : user;
  // MySQL's clients send no password, but the server's challenge encrypted with it.
  const password = type === MYSQL_LOGIN ? undefined : given(data, "PASSWORD", "Password", "VNC Password");
  const isLogin = LOGINS.has(type) || isMongodb || username !== undefined || password !== undefined;
  return isLogin ? { credentials: [{ username, password }], loginAttempts: 1 } : {};
}

function commandsOf(data: Fields): Pick<Draft, "commands" | "credentials" | "loginAttempts"> {
  const command = textAt(data, "CMD");
  if (command !== undefined) return readRedisCommand([command, ...textsAt(data, "ARGS")].join(" "));
  const opcode = textAt(data, "OPCODE");
  if (opcode !== undefined) return { commands: [[opcode, ...textsAt(data, "FILENAME")].join(" ")] };
  return { commands: textsAt(data, "command") };
}

function httpOf(data: Fields, type: number): HttpDraft | undefined {
  const target = textAt(data, "PATH", "URL");
  if (target === undefined) return undefined;
  const method = type === HTTP_LOGIN ? "POST" : type === HTTP_GET ? "GET" : undefined;
  return {
    method: given(data, "REQUEST_TYPE") ?? method,
    host: given(data, "HOSTNAME"),
    target,
    userAgent: given(data, "USERAGENT"),
  };
}

/** Its header fields are lists of values; `CSeq` ends with the method. */
function sipRequestOf(data: Fields): HttpDraft | undefined {
  const fields = toHeaderFields(data.HEADERS);
  const sequence = fields.find(([name]) => name.toLowerCase() === "cseq")?.[1];
  const method = /^\s*\d+\s+([A-Z]+)/.exec(sequence ?? "")?.[1];
  return fields.length === 0 ? undefined : { ...readHeaderFields(fields), method };
}
