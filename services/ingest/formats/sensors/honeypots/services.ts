import { splitAddress } from "../../addresses.ts";
import { portAt, textAt, textsAt } from "../../fields.ts";
import { MAX_PAYLOAD_LENGTH, readPayload } from "../payload.ts";
import { type Honeypot, isEventOf, type Reading, spokenIn } from "./honeypot.ts";
import { readEndlesshLine } from "./lines.ts";
import { readRedisCommand } from "./redis.ts";

/** ADBHoneypot, a later honeypot in its manner, calls its events `adbhoneypot.what`. */
const adbhoney: Honeypot = {
  name: "adbhoney",
  recognizes: (record) => ADB_EVENT.test(textAt(record, "eventid") ?? ""),
  application: "adb",
  read: (record) => ({
    labels: textsAt(record, "eventid").map((event) => event.replace(ADB_EVENT, "adbhoney:")),
    urls: textsAt(record, "src_url"),
    payloadSha256: textsAt(record, "shasum"),
  }),
};
const ADB_EVENT = /^adbhoney(?:pot)?\./;

/** A member names the industrial protocol, and `id` the session. */
const conpot: Honeypot = {
  name: "conpot",
  writesUtc: true,
  recognizes: (record) => "data_type" in record && "sensorid" in record && "src_ip" in record,
  read(record) {
    const { application } = spokenIn(record);
    const isFtp = application === "ftp";
    return { application, session: textAt(record, "id"), ...(isFtp && { commands: textsAt(record, "request") }) };
  },
};

/** What the traps for amplification attacks speak, by port. */
const AMPLIFIERS: ReadonlyMap<number, string> = new Map([
  [19, "chargen"],
  [53, "dns"],
  [123, "ntp"],
  [1900, "ssdp"],
]);

const ddospot: Honeypot = {
  name: "ddospot",
  recognizes: (record) =>
    "src_ip" in record && (("req_size" in record && "resp_size" in record) || "dns_cls" in record),
  transport: "udp",
  time: "time",
  read(record) {
    const known = "dns_cls" in record ? 53 : "mode" in record ? 123 : "mx" in record ? 1900 : 19;
    const port = portAt(record, "dst_port", "dest_port") ?? known;
    return { destinationPort: port, application: AMPLIFIERS.get(port) };
  },
};

/** Only a connection's first record names the source: without it, nobody can be said to have done what the others say. */
const dicompot: Honeypot = {
  name: "dicompot",
  recognizes: (record) => "ID" in record && "IP" in record && "Port" in record && "msg" in record,
  application: "dicom",
  time: "time",
  read(record) {
    const sourceIp = textAt(record, "IP");
    if (sourceIp === undefined && "ID" in record) return { ignored: "no-behaviour" };
    return {
      sourceIp,
      sourceMembers: ["IP"],
      sourcePort: portAt(record, "Port"),
      session: textAt(record, "ID"),
      commands: textsAt(record, "Command"),
    };
  },
};

const endlessh: Honeypot = {
  name: "endlessh",
  application: "ssh",
  port: 22,
  readLine: readEndlesshLine,
  read: ({ reason }): Reading => (reason === "CLOSE" ? { ignored: "no-behaviour" } : {}),
};

/** Only the lines of its handlers have a source; the others are about itself. */
const glutton: Honeypot = {
  name: "glutton",
  recognizes: (record) => "handler" in record && "sensorID" in record && "src_ip" in record,
  time: "time",
  logsItself: true,
  read(record) {
    const handler = textAt(record, "handler")?.replace(/^(?:spicy-|proxy_)/, "");
    const spoken = spokenIn({ proto: handler });
    const payload = textAt(record, "payload_hex");
    const path = textAt(record, "path");
    const query = textAt(record, "query");
    return {
      transport: spoken.transport ?? "tcp",
      application: spoken.application,
      ...(payload !== undefined && readPayload(Buffer.from(payload.slice(0, MAX_PAYLOAD_LENGTH), "hex"))),
      ...(path !== undefined && {
        http: { method: textAt(record, "method"), target: query === undefined ? path : `${path}?${query}` },
      }),
    };
  },
};

/** What the client sent, a line or more a record. */
const mailoney: Honeypot = {
  name: "mailoney",
  application: "smtp",
  port: 25,
  read: (record) => ({
    commands: (textAt(record, "data")?.slice(0, MAX_PAYLOAD_LENGTH) ?? "")
      .split(/[\r\n]+/)
      .filter((line) => line.trim() !== ""),
  }),
};

const medpot: Honeypot = {
  name: "medpot",
  recognizes: (record) => record.message === "Connection found" && "data" in record && "src_ip" in record,
  application: "hl7",
  port: 2575,
  logsItself: true,
  read: (record) => ({ observedAt: shortDate(textAt(record, "timestamp")) }),
};

/** `20 Nov 26 13:00 UTC`, as of RFC 822, with the century and seconds; undefined for any other time. */
function shortDate(text: string | undefined): string | undefined {
  const [, day, year, clock, zone] = /^(\d\d [A-Z][a-z]{2}) (\d\d) (\d\d:\d\d) ([A-Z]+)$/.exec(text ?? "") ?? [];
  return day && `${day} 20${year} ${clock}:00 ${zone}`;
}

const miniprint: Honeypot = {
  name: "miniprint",
  recognizes: (record) => "info" in record && "event" in record && "action" in record && "src_ip" in record,
  application: "printer",
  logsItself: true,
  read(record): Reading {
    if (record.action === "response") return { ignored: "answer" };
    if (record.action === "close_conn") return { ignored: "no-behaviour" };
    return { commands: textsAt(record, "command") };
  },
};

const rdphoneypot: Honeypot = { name: "rdphoneypot", recognizes: isEventOf("rdphoneypot"), application: "rdp" };

const redishoneypot: Honeypot = {
  name: "redishoneypot",
  recognizes: (record) => "action" in record && /^[\d.]+:\d+$/.test(textAt(record, "addr") ?? ""),
  application: "redis",
  port: 6379,
  time: "time",
  read(record) {
    const action = textAt(record, "action");
    if (action === "Closed") return { ignored: "no-behaviour" };
    const { address, port } = splitAddress(textAt(record, "addr") ?? "");
    return {
      sourceIp: address || undefined,
      sourceMembers: ["addr"],
      sourcePort: port,
      ...(action !== undefined && action !== "NewConnect" && readRedisCommand(action)),
    };
  },
};

const sentrypeer: Honeypot = {
  name: "sentrypeer",
  recognizes: (record) => textAt(record, "app_name")?.toLowerCase() === "sentrypeer",
  application: "sip",
  port: 5060,
  time: "event_timestamp",
  read(record) {
    const { address, port } = splitAddress(textAt(record, "source_ip") ?? "");
    return {
      sourceIp: address || undefined,
      sourceMembers: ["source_ip"],
      sourcePort: port,
      session: textAt(record, "event_uuid"),
      transport: spokenIn(record).transport,
      http: { method: textAt(record, "sip_method"), userAgent: textAt(record, "sip_user_agent") },
    };
  },
};

export const SERVICE_HONEYPOTS: readonly Honeypot[] = [
  adbhoney,
  conpot,
  ddospot,
  dicompot,
  endlessh,
  glutton,
  mailoney,
  medpot,
  miniprint,
  rdphoneypot,
  redishoneypot,
  sentrypeer,
];
