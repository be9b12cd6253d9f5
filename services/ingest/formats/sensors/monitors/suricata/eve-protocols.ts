import type { Draft } from "../../../draft.ts";
import { type Fields, isFields, listAt, objectAt, textAt, textsAt } from "../../../fields.ts";

/** Events that are about packets, flows or files, not called after a protocol. */
const NOT_PROTOCOLS = new Set(["alert", "anomaly", "flow", "netflow", "fileinfo", "drop"]);
/** Suricata's own words for protocols that other sensors call otherwise. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    bittorrent_dht: "bittorrent-dht",
    "ftp-data": "ftp",
    ftp_data: "ftp",
    http2: "http",
    ikev2: "ike",
    krb5: "kerberos",
    rfb: "vnc",
  }),
);

/** The protocol that the flow spoke; `failed` and `unknown` are not protocols. */
export function eveApplication(record: Fields, event: string): string | undefined {
  const named = textAt(record, "app_proto");
  const isNamed = named !== undefined && named !== "failed" && named !== "unknown";
  const application = isNamed ? named : NOT_PROTOCOLS.has(event) ? undefined : event;
  return application && (NAMES.get(application) ?? application);
}

/** What an event of a protocol says of its client. Alerts repeat such members: logins are counted by the events alone. */
export function readProtocol(record: Fields, event: string): Partial<Draft> | undefined {
  return Object.hasOwn(PROTOCOLS, event) ? PROTOCOLS[event]?.(objectAt(record, event)) : undefined;
}

const PROTOCOLS: Readonly<Record<string, (protocol: Fields) => Partial<Draft>>> = {
  bittorrent_dht: (dht) => ({ metadata: { dht_client: textAt(dht, "client_version") } }),
  dns: (dns) => ({ metadata: { dns_query: queryOf(dns) } }),
  ftp: (ftp) => loginCommand(textAt(ftp, "command"), textAt(ftp, "command_data")),
  pop3: (pop3) => loginCommand(textAt(pop3, "request.command"), textsAt(pop3, "request.args").join(" ") || undefined),
  krb5: (krb5) => ({ credentials: userOf(textAt(krb5, "cname")) }),
  ldap: (ldap) => ({ credentials: userOf(textAt(ldap, "request.bind_request.name")) }),
  mqtt: (mqtt) => {
    const connect = objectAt(mqtt, "connect");
    const [username, password] = [textAt(connect, "username"), textAt(connect, "password")];
    const isLogin = username !== undefined || password !== undefined;
    return {
      ...(isLogin && { credentials: [{ username, password }], loginAttempts: 1 }),
      metadata: { mqtt_client: textAt(connect, "client_id") },
    };
  },
  pgsql: (pgsql) => ({
    credentials: userOf(textAt(pgsql, "request.startup_parameters.user")),
    commands: textsAt(pgsql, "request.simple_query"),
  }),
  quic: (quic) => ({ metadata: { quic_agent: textAt(quic, "ua") } }),
  rdp: (rdp) => ({
    metadata: { rdp_cookie: textAt(rdp, "cookie"), rdp_client: textAt(rdp, "client.client_name") },
  }),
  sip: (sip) => {
    const [method, userAgent] = [textAt(sip, "method"), textAt(sip, "user_agent")];
    return { ...((method ?? userAgent) && { http: { method, userAgent } }) };
  },
  smb: (smb) => ({
    credentials: userOf(textAt(smb, "ntlmssp.user")),
    metadata: { smb_host: textAt(smb, "ntlmssp.host") },
  }),
  smtp: (smtp) => ({ metadata: { smtp_helo: textAt(smtp, "helo"), smtp_from: textAt(smtp, "mail_from") } }),
  snmp: (snmp) => ({ metadata: { snmp_community: textAt(snmp, "community"), snmp_user: textAt(snmp, "usm") } }),
  tftp: (tftp) => ({ metadata: { tftp_packet: textAt(tftp, "packet"), tftp_file: textAt(tftp, "file") } }),
};

const userOf = (username: string | undefined) => (username === undefined ? [] : [{ username }]);

/** USER and PASS are events of their own; all other commands are kept as they were typed. */
export function loginCommand(command: string | undefined, argument: string | undefined): Partial<Draft> {
  const name = command?.toUpperCase();
  if (name === undefined) return {};
  if (name === "USER") return { credentials: userOf(argument) };
  if (name === "PASS") return { credentials: argument === undefined ? [] : [{ password: argument }], loginAttempts: 1 };
  return { commands: [argument === undefined ? name : `${name} ${argument}`] };
}

/** Version 3 has a list of queries. */
function queryOf(dns: Fields): string | undefined {
  const [first] = listAt(dns, "queries");
  return textAt(dns, "rrname") ?? (isFields(first) ? textAt(first, "rrname") : undefined);
}
