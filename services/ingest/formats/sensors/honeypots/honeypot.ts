import { TRANSPORTS, type Transport } from "@noisefloor/domain/observation/members.ts";
import { acceptedOver, type Draft, toObservation } from "../../draft.ts";
import { at, type Fields, portAt, textAt, textsAt, toText } from "../../fields.ts";
import type { Decoded, DecodeOptions, IgnoredReason } from "../../format.ts";

/** What a honeypot's own members say, or why a record of it is no observation. */
export type Reading = Partial<Draft> | { readonly ignored: IgnoredReason };

/**
 * A honeypot with a log of plain members. `src_ip`, `src_port`, `dst_port`, `session` and the like are read for all.
 */
export type Honeypot = {
  /** T-Pot's type in lower case; also the sensor's name where a record has none. */
  readonly name: string;
  /** Whether an object is one of its records; left out where its members are too common to tell. */
  readonly recognizes?: (record: Fields) => boolean;
  /** What it speaks, where its records do not say. */
  readonly application?: string;
  readonly transport?: Transport;
  /** The port that it is known to serve, where its records do not say. */
  readonly port?: number;
  /** The member with the time, where that is not `timestamp`. */
  readonly time?: string;
  /** As in a draft. */
  readonly writesUtc?: true;
  /** Whether its log also has messages about itself, which name no source. */
  readonly logsItself?: true;
  /** Whether its records may be of packets: elsewhere a record over TCP is of a connection that was accepted. */
  readonly seesPackets?: true;
  readonly read?: (record: Fields) => Reading;
  /** The record of a line of a log that is no JSON; undefined for a line that is none. */
  readonly readLine?: (line: string) => Fields | undefined;
};

export function decodeHoneypot(honeypot: Honeypot, record: Fields, options: DecodeOptions): Decoded {
  const reading = honeypot.read?.(record) ?? {};
  if ("ignored" in reading) return reading;
  const sourceIp = reading.sourceIp ?? textAt(record, "src_ip");
  if (sourceIp === undefined && honeypot.logsItself) return { ignored: "about-sensor" };
  if (sourceIp !== undefined && options.isOwnAddress(sourceIp)) return { ignored: "own-traffic" };
  const application = reading.application ?? honeypot.application;
  const transport = reading.transport ?? honeypot.transport ?? transportOf(application);
  return toObservation(
    {
      sensor: textAt(record, "sensor", "sensorid", "sensorName", "sensorID"),
      ...loginOf(record),
      commands: textsAt(record, "input"),
      labels: eventLabels(record),
      ...reading,
      format: honeypot.name,
      observedAt: firstTime(reading.observedAt, at(record, honeypot.time ?? "timestamp"), record.timestamp),
      writesUtc: honeypot.writesUtc,
      sourceIp,
      sourceMembers: reading.sourceMembers ?? ["src_ip"],
      sourcePort: reading.sourcePort ?? portAt(record, "src_port"),
      destinationPort: reading.destinationPort ?? portAt(record, "dst_port", "dest_port") ?? honeypot.port,
      transport,
      established: reading.established ?? (honeypot.seesPackets ? undefined : acceptedOver(transport)),
      application,
      session: reading.session ?? textAt(record, "session", "session_id"),
    },
    options,
  );
}

/** Times as sensors write them: of the calendar, or seconds since 1970. */
const READABLE = /^(?:\d{4}[-/]\d\d[-/]\d\d[T ][\d:.,]+\s*(?:Z|UTC|[+-]\d\d:?\d\d)?|\d{9,19}(?:\.\d+)?)$/i;

/** The first value that can be read as a time, else the first at all, so that the rejection shows it. */
export function firstTime(...values: readonly unknown[]): unknown {
  return values.find((value) => READABLE.test(toText(value) ?? "")) ?? values.find((value) => value !== undefined);
}

export function loginOf(record: Fields): Pick<Draft, "credentials" | "loginAttempts"> {
  const [username, password] = [textAt(record, "username"), textAt(record, "password")];
  return username === undefined && password === undefined
    ? {}
    : { credentials: [{ username, password }], loginAttempts: 1 };
}

/** Honeypots in Cowrie's manner call their events `name.what`. */
export function isEventOf(name: string): (record: Fields) => boolean {
  return (record) => textAt(record, "eventid")?.startsWith(`${name}.`) === true;
}

function eventLabels(record: Fields): string[] {
  const event = textAt(record, "eventid");
  return event === undefined ? [] : [event.replace(".", ":")];
}

/** Members that name the transport at one honeypot and the application at another. */
const PROTOCOL_MEMBERS = ["app_proto", "protocol", "proto", "transport", "transport_type", "data_type"];

/** What a record's members say about transport and application, whichever of the two each of them names. */
export function spokenIn(record: Fields): Pick<Draft, "transport" | "application"> {
  const names = PROTOCOL_MEMBERS.flatMap((member) => textAt(record, member)?.toLowerCase() ?? []);
  const application = names.find((name) => !isTransport(name))?.replace(/\/[\d.]+$/, "");
  return {
    transport: names.find(isTransport),
    application: application === "https" ? "http" : application,
  };
}

const isTransport = (name: string) => TRANSPORTS.some((transport) => transport === name);

/** What is spoken over UDP wherever honeypots speak it. */
const OVER_UDP: ReadonlySet<string> = new Set(
  "bacnet chargen coap dhcp dns ike ipmi llmnr mdns ntp sip snmp ssdp tftp".split(" "),
);

/** The transport under an application; undefined when that is unknown. */
export function transportOf(application: string | undefined): Transport | undefined {
  return application === undefined ? undefined : OVER_UDP.has(application.toLowerCase()) ? "udp" : "tcp";
}
