import { toObservation } from "../draft.ts";
import { type Fields, objectAt, portAt, textAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** What OpenCanary's numbers of log types begin with, and the protocol that they stand for. */
const APPLICATIONS: readonly (readonly [first: number, last: number, application: string])[] = [
  [2_000, 2_999, "ftp"],
  [3_000, 3_999, "http"],
  [4_000, 4_999, "ssh"],
  [6_000, 6_999, "telnet"],
  [7_000, 7_999, "http"],
  [8_000, 8_999, "mysql"],
  [9_000, 9_999, "mssql"],
  [10_000, 10_999, "tftp"],
  [11_000, 11_999, "ntp"],
  [12_000, 12_999, "vnc"],
  [13_000, 13_999, "snmp"],
  [14_000, 14_999, "rdp"],
  [15_000, 15_999, "sip"],
  [16_000, 16_999, "git"],
  [17_000, 17_999, "redis"],
];
/** Below this OpenCanary reports about itself. */
const FIRST_EVENT = 2_000;

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
  const username = textAt(data, "USERNAME");
  const password = textAt(data, "PASSWORD");
  const isLogin = username !== undefined || password !== undefined;
  const target = textAt(data, "PATH", "URL");
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
      transport: textAt(data, "PROTO") ?? (type >= 10_000 && type < 12_000 ? "udp" : "tcp"),
      application: APPLICATIONS.find(([first, last]) => type >= first && type <= last)?.[2],
      credentials: isLogin ? [{ username, password }] : [],
      loginAttempts: isLogin ? 1 : 0,
      commands: [textAt(data, "CMD") ?? ""].filter(Boolean),
      labels: [`opencanary:${type}`],
      http:
        target === undefined
          ? undefined
          : {
              method: type === 3_001 ? "POST" : "GET",
              host: textAt(data, "HOSTNAME"),
              target,
              userAgent: textAt(data, "USERAGENT"),
            },
      sshBanner: textAt(data, "REMOTEVERSION"),
    },
    options,
  );
}
