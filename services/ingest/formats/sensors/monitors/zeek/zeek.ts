import { splitTarget, toObservation, transportOf } from "../../../draft.ts";
import { type Fields, objectAt, portAt, textAt, textsAt } from "../../../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../../../format.ts";
import { zeekAnswer } from "./zeek-answers.ts";
import { zeekContact } from "./zeek-contact.ts";
import { ignoredLog, logOf, protocolOf, readLog } from "./zeek-logs.ts";
import { openTsv } from "./zeek-tsv.ts";

/** Where notices and signatures, which may be about several connections, name their source. */
const SOURCE_MEMBERS = ["id.orig_h", "src", "src_addr"] as const;
/** Notices about Zeek itself, and those that name the victim beside others that name the attacker. */
const NOTICES_ABOUT_SENSOR = /^(?:CaptureLoss|PacketFilter|Cluster|Broker)::/;
const NOTICES_OF_VICTIMS = /_Victim$/;

/** Zeek's logs (conn, http, ssh, ssl and those of other protocols, notice, weird), JSON or tab-separated. */
export const zeek: LogFormat = {
  name: "zeek",
  description: "Zeek's logs (conn, http, ssh, ssl, ...), JSON or tab-separated; set OWN_ADDRESSES as well",
  json: {
    signs: "id.orig_h, or _path and ts, or note and actions",
    recognizes: (record) =>
      "id.orig_h" in record ||
      ("_path" in record && "ts" in record) ||
      ("note" in record && "actions" in record && "ts" in record) ||
      textAt(objectAt(record, "id"), "orig_h") !== undefined,
    decode: decodeZeek,
  },
  text: {
    recognizes: (line) => /^#(?:separator|fields)\b/.test(line),
    open: () => openTsv(decodeZeek),
  },
};

function decodeZeek(record: Fields, options: DecodeOptions): Decoded {
  const log = logOf(record);
  const ignored = log === undefined ? undefined : (ignoredLog(log) ?? ignoredRecord(record, log));
  if (ignored !== undefined) return { ignored };
  const source = textAt(record, ...SOURCE_MEMBERS);
  const answer = zeekAnswer(record, log, source, options);
  if (answer !== undefined) return { ignored: answer };
  const protocol = protocolOf(log);
  const transport = textAt(record, "proto") ?? (isDtls(record) ? "udp" : protocol?.transport);
  const isIcmp = transport?.includes("icmp") === true;
  const depth = Number(textAt(record, "trans_depth") ?? 1);
  const uid = textAt(record, "uid");
  const banner = textAt(record, "client");
  const state = textAt(record, "conn_state");
  const func = textAt(record, "func");
  const said = readLog(record, log);
  const decoded = toObservation(
    {
      format: "zeek",
      observedAt: record.ts ?? record._write_ts,
      isUtc: true,
      sensor: textAt(record, "_system_name", "_node"),
      sourceIp: source,
      sourceMembers: SOURCE_MEMBERS,
      // For ICMP these are type and code.
      sourcePort: isIcmp ? undefined : portAt(record, "id.orig_p", "src_port"),
      destinationPort: isIcmp ? undefined : portAt(record, "id.resp_p", "p", "dst_port"),
      transport,
      established: transportOf(transport) === "tcp" && zeekContact(record, log),
      application: applicationOf(record, log) ?? protocol?.name,
      session: uid && depth > 1 ? `${uid}/${depth - 1}` : uid,
      labels: [
        ...(state === undefined ? [] : [`zeek-state:${state}`]),
        ...(func === undefined ? [] : [`zeek-func:${func}`]),
        ...(said.labels ?? []),
      ],
      credentials: said.credentials ?? [],
      loginAttempts: said.loginAttempts,
      commands: said.commands ?? [],
      http: log === "http" ? httpOf(record) : said.http,
      tls: { ja3: textAt(record, "ja3"), ja4: textAt(record, "ja4"), sni: textAt(record, "server_name") },
      ssh: { hassh: textAt(record, "hassh"), banner: banner?.startsWith("SSH-") ? banner : undefined },
      metadata: {
        ...(isIcmp && { icmp_type: record["id.orig_p"], icmp_code: record["id.resp_p"] }),
        zeek_log: log,
        ...said.metadata,
      },
      ...(uid !== undefined && { key: [uid, log, record.ts, depth, ...keyOf(record, log)] }),
    },
    options,
  );
  return !("observation" in decoded) ? decoded : { ...decoded, destination: textAt(record, "id.resp_h", "dst") };
}

/** One connection has several notices, weirds and commands at one time. */
function keyOf(record: Fields, log: string | undefined): readonly unknown[] {
  if (log === "notice" || log === "weird" || log === "signatures") return [record.note, record.name, record.sig_id];
  return "command" in record || "cmd" in record ? [record.command, record.cmd, record.arg] : [];
}

function ignoredRecord(record: Fields, log: string) {
  const note = log === "notice" ? textAt(record, "note") : undefined;
  if (note !== undefined && NOTICES_ABOUT_SENSOR.test(note)) return "about-sensor";
  if (note !== undefined && NOTICES_OF_VICTIMS.test(note)) return "no-behaviour";
  // Zeek logs packets that are too broken to have a source.
  return log === "weird" && textAt(record, ...SOURCE_MEMBERS) === undefined ? "no-behaviour" : undefined;
}

/**
 * The service of a connection: the last one is that inside of the others, those with a minus were a mistake. Kerberos
 * calls something else so.
 */
function applicationOf(record: Fields, log: string | undefined): string | undefined {
  if (log !== undefined && log !== "conn") return undefined;
  const services = textsAt(record, "service").flatMap((text) => text.split(","));
  const service = services.findLast((name) => !name.startsWith("-"));
  return service === undefined ? undefined : (protocolOf(service)?.name ?? service);
}

const isDtls = (record: Fields) => textAt(record, "version")?.startsWith("DTLS") === true;

function httpOf(record: Fields) {
  const target = textAt(record, "uri");
  return {
    method: textAt(record, "method"),
    host: textAt(record, "host") ?? splitTarget(target).host,
    target,
    userAgent: textAt(record, "user_agent"),
    referer: textAt(record, "referrer"),
    headers: textsAt(record, "client_header_names"),
    cookies: textsAt(record, "cookie_vars"),
  };
}
