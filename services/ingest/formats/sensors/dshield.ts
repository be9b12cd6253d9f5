import { toObservation } from "../draft.ts";
import { at, type Fields, isFields, objectAt, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readHeaderFields } from "./payload.ts";

/** The web log of the DShield sensor: one request a line. */
export const dshieldWeb: LogFormat = {
  name: "dshield",
  description: "the DShield sensor's web log (webhoneypot_*.json)",
  json: {
    signs: "sip, url, method and an object of headers",
    recognizes: (record) => "sip" in record && "url" in record && "method" in record && isFields(record.headers),
    decode: decodeWeb,
  },
};

function decodeWeb(record: Fields, options: DecodeOptions): Decoded {
  const fields = Object.entries(objectAt(record, "headers")).flatMap(([name, value]): [string, string][] => [
    [name, toText(value) ?? ""],
  ]);
  const data = at(record, "data");
  return toObservation(
    {
      format: "dshield",
      observedAt: record.time,
      sensor: textAt(record, "sensor"),
      sourceIp: textAt(record, "sip"),
      sourceMembers: ["sip"],
      destinationPort: portAt(record, "dport") ?? portOfHost(textAt(objectAt(record, "headers"), "host", "Host")),
      transport: "tcp",
      application: "http",
      http: {
        ...readHeaderFields(fields),
        method: textAt(record, "method"),
        target: textAt(record, "url"),
        ...(textAt(record, "useragent") !== undefined && { userAgent: textAt(record, "useragent") }),
        body: isFields(data) ? JSON.stringify(data) : toText(data),
      },
    },
    options,
  );
}

/** The port that the client named; a client names none for the usual one. */
function portOfHost(host: string | undefined): number {
  const port = /:(\d{1,5})$/.exec(host ?? "")?.[1];
  return port === undefined ? 80 : Number(port);
}

/** `name=value` pairs in a line of the Linux packet filter's log. */
const SOURCE = /\bSRC=([\d.]+) DST=[\d.]+ /;
const value = (line: string, name: string) => new RegExp(`\\b${name}=(\\S+)`).exec(line)?.[1];
const BEGINS_WITH_SECONDS = /^(\d{10}(?:\.\d+)?) /;
const BEGINS_WITH_RFC3339 = /^(\d{4}-\d\d-\d\dT\S+) /;
const BEGINS_WITH_SYSLOG = /^([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) /;
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** Lines that iptables or nftables log, also for people without a honeypot: a packet each. */
export const netfilter: LogFormat = {
  name: "netfilter",
  description: "packets logged by iptables or nftables (dshield.log, kern.log)",
  text: {
    recognizes: (line) => SOURCE.test(line) && line.includes("PROTO="),
    open: () => decodePacket,
  },
};

function decodePacket(line: string, options: DecodeOptions): Decoded {
  const source = SOURCE.exec(line)?.[1];
  if (source === undefined) return { ignored: "other-program" };
  // A packet that the sensor itself sends.
  if (options.isOwnAddress(source) || (!/\bIN=\S/.test(line) && /\bOUT=\S/.test(line)))
    return { ignored: "own-traffic" };
  const destinationPort = value(line, "DPT");
  const sourcePort = value(line, "SPT");
  return toObservation(
    {
      format: "netfilter",
      observedAt: timeOf(line, options.now()),
      sensor: /^(?:\S+|[A-Z][a-z]{2} [ \d]\d \S+) (\S+) /.exec(line)?.[1],
      sourceIp: source,
      sourceMembers: ["SRC"],
      sourcePort: sourcePort === undefined ? undefined : Number(sourcePort),
      destinationPort: destinationPort === undefined ? undefined : Number(destinationPort),
      transport: value(line, "PROTO"),
      key: [line],
    },
    options,
  );
}

function timeOf(line: string, now: number): unknown {
  const [, seconds] = BEGINS_WITH_SECONDS.exec(line) ?? [];
  if (seconds !== undefined) return Number(seconds);
  const [, time] = BEGINS_WITH_RFC3339.exec(line) ?? [];
  if (time !== undefined) return time;
  const [, month, day = "", clock] = BEGINS_WITH_SYSLOG.exec(line) ?? [];
  if (month === undefined) return undefined;
  const date = `${String(MONTHS.indexOf(month) / 3 + 1).padStart(2, "0")}-${day.trim().padStart(2, "0")}T${clock}Z`;
  // Syslog names no year: the last one in which this is past, a day's grace for clocks that differ.
  const year = new Date(now).getUTCFullYear();
  return Date.parse(`${year}-${date}`) > now + 86_400_000 ? `${year - 1}-${date}` : `${year}-${date}`;
}
