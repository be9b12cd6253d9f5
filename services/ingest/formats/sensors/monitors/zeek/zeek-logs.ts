import type { Draft } from "../../../draft.ts";
import { type Fields, textAt, textsAt } from "../../../fields.ts";
import type { IgnoredReason } from "../../../format.ts";
import { loginCommand } from "../suricata/eve-protocols.ts";

/** Logs about Zeek itself, about files without a source, or about hosts that it has seen, whoever they are. */
const IGNORED_LOGS: ReadonlyMap<string, IgnoredReason> = new Map([
  ...reasons("about-sensor", ["analyzer_debug", "broker", "capture_loss", "cluster", "config", "loaded_scripts"]),
  ...reasons("about-sensor", ["known_certs", "known_devices", "known_hosts", "known_services", "management"]),
  ...reasons("about-sensor", ["netcontrol", "packet_filter", "print", "prof", "reporter", "stats", "telemetry"]),
  ...reasons("about-sensor", ["unknown_protocols", "weird_stats"]),
  ...reasons("no-behaviour", ["dhcp", "files", "ocsp", "pe", "software", "x509"]),
]);

function reasons(reason: IgnoredReason, logs: readonly string[]): [string, IgnoredReason][] {
  return logs.map((log) => [log, reason]);
}

/** Why a log's records are no observations. */
export function ignoredLog(log: string): IgnoredReason | undefined {
  return IGNORED_LOGS.get(log);
}

/** A protocol and what carries it, where its log has no `proto`: undefined where it may be either. */
type Protocol = { readonly name: string; readonly transport?: "tcp" | "udp" };

const protocols = (names: readonly string[], transport?: "tcp" | "udp"): [string, Protocol][] =>
  names.map((name) => [name, { name, ...(transport && { transport }) }]);

/** The logs that are called after a protocol. All others are about something else, and their names are no application. */
const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ...protocols(["ftp", "http", "irc", "modbus", "mysql", "postgresql", "rdp", "redis", "socks", "ssh", "smtp"], "tcp"),
  ...protocols(["bacnet", "ntp", "quic", "radius", "sip", "snmp", "stun", "tftp", "wireguard"], "udp"),
  ...protocols(["dnp3", "dns", "enip", "ipsec", "kerberos", "ldap", "ntlm", "opcua", "profinet", "s7comm", "syslog"]),
  ...protocols(["dce_rpc", "openvpn", "synchrophasor", "websocket"]),
  ["mqtt_connect", { name: "mqtt", transport: "tcp" }],
  ["mqtt_publish", { name: "mqtt", transport: "tcp" }],
  ["mqtt_subscribe", { name: "mqtt", transport: "tcp" }],
  ["ldap_search", { name: "ldap" }],
  ["modbus_register_change", { name: "modbus", transport: "tcp" }],
  ["rfb", { name: "vnc", transport: "tcp" }],
  ["smb_cmd", { name: "smb", transport: "tcp" }],
  ["smb_files", { name: "smb", transport: "tcp" }],
  ["smb_mapping", { name: "smb", transport: "tcp" }],
  ["ssl", { name: "tls", transport: "tcp" }],
]);
/** Logs of add-ons for industrial protocols: `s7comm_upload_download`, `cip_identity`, `modbus_detailed`. */
const INDUSTRIAL = /^(bacnet|cip|dnp3|enip|modbus|opcua|profinet|s7comm)_/;

export function protocolOf(log: string | undefined): Protocol | undefined {
  if (log === undefined) return undefined;
  const [, industrial] = INDUSTRIAL.exec(log) ?? [];
  return PROTOCOLS.get(log) ?? (industrial === undefined ? undefined : { name: industrial });
}

/** Members that only one log has, for records that do not name theirs. */
const SIGNS: readonly (readonly [member: string, log: string])[] = [
  ["conn_state", "conn"],
  ["uri", "http"],
  ["note", "notice"],
  ["mailfrom", "smtp"],
  ["helo", "smtp"],
  ["auth_attempts", "ssh"],
  ["hassh", "ssh"],
  ["cipher", "ssl"],
  ["server_name", "ssl"],
  ["qtype_name", "dns"],
  ["sig_id", "signatures"],
  ["reply_code", "ftp"],
  ["nick", "irc"],
  ["cmd", "mysql"],
  ["security_protocol", "rdp"],
  ["request_type", "kerberos"],
  ["domainname", "ntlm"],
  ["community", "snmp"],
  ["client_major_version", "rfb"],
];

/** The name of a record's log, without the additions of Corelight's sensors; else told by its members. */
export function logOf(record: Fields): string | undefined {
  const path = textAt(record, "_path");
  if (path !== undefined) return path.replace(/_(?:red|long|agg)$/, "");
  if ("call_id" in record) return "sip";
  if ("peer" in record && "notice" in record && "name" in record) return "weird";
  const [, log] = SIGNS.find(([member]) => member in record) ?? [];
  if (log !== undefined) return log;
  if ("trans_depth" in record) return "http";
  // A log without its name, recognised by a column that only this protocol's has.
  return "func" in record && textAt(record, "id.resp_p") === "502" ? "modbus" : undefined;
}

/** What Zeek writes where it knows no name, or hides one. */
const PLACEHOLDERS = new Set(["<hidden>", "<unknown>", "-", "(empty)"]);

/** The text of the first of some members that holds a real one. */
function wordAt(record: Fields, ...members: readonly string[]): string | undefined {
  return members.map((member) => textAt(record, member)).find((text) => text !== undefined && !PLACEHOLDERS.has(text));
}

function loginOf(username: string | undefined, password?: string | undefined): Partial<Draft> {
  return username === undefined && password === undefined ? {} : { credentials: [{ username, password }] };
}

const commandOf = (...words: readonly (string | undefined)[]): Partial<Draft> =>
  words[0] === undefined ? {} : { commands: [words.filter((word) => word !== undefined).join(" ")] };

/** What a log's record says of its source, beyond what all logs have. */
export function readLog(record: Fields, log: string | undefined): Partial<Draft> {
  if (log === undefined) return loginOf(wordAt(record, "username", "user"), wordAt(record, "password"));
  return (Object.hasOwn(LOGS, log) ? LOGS[log]?.(record) : undefined) ?? {};
}

const LOGS: Readonly<Record<string, (record: Fields) => Partial<Draft>>> = {
  dns: (dns) => ({ metadata: { dns_query: wordAt(dns, "query") } }),
  ftp: (ftp) => ({
    ...loginOf(wordAt(ftp, "user"), wordAt(ftp, "password")),
    ...commandsOnly(loginCommand(wordAt(ftp, "command"), wordAt(ftp, "arg"))),
  }),
  http: (http) => loginOf(wordAt(http, "username"), wordAt(http, "password")),
  intel: (intel) => ({ labels: textsAt(intel, "sources").map((source) => `zeek-intel:${source}`) }),
  irc: (irc) => ({
    ...commandOf(wordAt(irc, "command"), wordAt(irc, "value")),
    metadata: { irc_nick: wordAt(irc, "nick"), irc_user: wordAt(irc, "user") },
  }),
  kerberos: (kerberos) => loginOf(wordAt(kerberos, "client")?.replace(/\/.*$/s, "")),
  ldap: (ldap) => (textAt(ldap, "opcode")?.startsWith("bind") ? loginOf(wordAt(ldap, "object")) : {}),
  mqtt_connect: (mqtt) => ({ metadata: { mqtt_client: wordAt(mqtt, "client_id") } }),
  mysql: (mysql) =>
    textAt(mysql, "cmd") === "login"
      ? loginOf(wordAt(mysql, "arg"))
      : commandOf(wordAt(mysql, "cmd"), wordAt(mysql, "arg")),
  notice: (notice) => ({
    labels: textsAt(notice, "note"),
    metadata: { zeek_msg: textAt(notice, "msg"), zeek_sub: wordAt(notice, "sub") },
  }),
  ntlm: (ntlm) => ({ ...loginOf(wordAt(ntlm, "username")), metadata: { ntlm_host: wordAt(ntlm, "hostname") } }),
  postgresql: (sql) => ({ ...loginOf(wordAt(sql, "user")), ...commandOf(wordAt(sql, "frontend_arg")) }),
  radius: (radius) => loginOf(wordAt(radius, "username")),
  rdp: (rdp) => ({ metadata: { rdp_cookie: wordAt(rdp, "cookie"), rdp_client: wordAt(rdp, "client_name") } }),
  redis: (redis) => commandOf(wordAt(redis, "cmd.name"), wordAt(redis, "cmd.key"), wordAt(redis, "cmd.value")),
  signatures: (signature) => ({
    labels: textsAt(signature, "sig_id"),
    metadata: { zeek_msg: textAt(signature, "event_msg") },
  }),
  sip: (sip) => ({ http: { method: wordAt(sip, "method"), userAgent: wordAt(sip, "user_agent") } }),
  smtp: (smtp) => ({
    metadata: {
      smtp_helo: wordAt(smtp, "helo"),
      smtp_from: wordAt(smtp, "mailfrom"),
      smtp_agent: wordAt(smtp, "user_agent"),
    },
  }),
  snmp: (snmp) => ({ metadata: { snmp_community: wordAt(snmp, "community") } }),
  socks: (socks) => loginOf(wordAt(socks, "user"), wordAt(socks, "password")),
  ssh: (ssh) => ({ loginAttempts: Number(textAt(ssh, "auth_attempts") ?? 0) || 0 }),
  traceroute: () => ({ labels: ["zeek-traceroute"] }),
  weird: (weird) => ({ labels: textsAt(weird, "name"), metadata: { zeek_msg: wordAt(weird, "addl") } }),
};

/** A record of ftp.log has user name and password of its own, and repeats them. */
const commandsOnly = ({ commands }: Partial<Draft>): Partial<Draft> => (commands === undefined ? {} : { commands });
