import { type Contact, type Counted, isInside } from "./tally.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Reads a format's raw records in a few lines, without the decoders. */
export type Counter = {
  readonly name: string;
  readonly says: readonly Counted[];
  readonly recognizes: (record: unknown) => boolean;
  /** @returns undefined for records that say nothing of what a source did. */
  readonly contact: (record: Fields, isOwn: (address: string) => boolean) => Contact | undefined;
};

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const inner = (value: unknown): Fields => (isFields(value) ? value : {});
const has =
  (...names: readonly string[]) =>
  (record: unknown) =>
    isFields(record) && names.every((name) => name in record);
const hasText = (name: string, start: string) => (record: unknown) =>
  isFields(record) && String(record[name]).startsWith(start);

/** Events of Cowrie's that only describe the sensor, the terminal or the end of a session. */
const COWRIE_QUIET =
  /^cowrie\.(?:session\.(?:closed|params)|log\.|client\.size|command\.(?:success|failed)|direct-tcpip\.data)/;
const digest = (value: unknown) => (/^[0-9a-f]{64}$/.test(String(value)) ? value : undefined);

const cowrie: Counter = {
  name: "cowrie",
  says: ["sources", "sessions", "ports", "logins", "commands", "files"],
  recognizes: hasText("eventid", "cowrie."),
  contact: ({ eventid, src_ip, session, dst_port, input, shasum }) => {
    const event = String(eventid);
    if (COWRIE_QUIET.test(event)) return undefined;
    return {
      source: src_ip,
      session,
      port: event === "cowrie.session.connect" ? dst_port : undefined,
      logins: event.startsWith("cowrie.login.") ? 1 : 0,
      command: event === "cowrie.command.input" ? input : undefined,
      file: /file_(?:down|up)load/.test(event) ? digest(shasum) : undefined,
    };
  },
};

/** ICMP types by which a host or a router answers: unreachable, source quench, redirect, time exceeded, bad parameter. */
const ICMP_ERRORS: readonly unknown[] = [3, 4, 5, 11, 12];
/** Whether a record is an answer, whatever its addresses are. */
const isEveAnswer = ({ proto, icmp_type, dns, sip }: Fields) =>
  (proto === "ICMP" && ICMP_ERRORS.includes(icmp_type)) ||
  (isFields(dns) && dns.type !== "query") ||
  (isFields(sip) && "code" in sip && !("method" in sip));

/**
 * The client of a record: its source, or the other end of what the sensor or a container of its own answered from a
 * service's port. An alert or a file from a service's port to a client's of ours answers ours.
 */
const eve: Counter = {
  name: "suricata-eve",
  says: ["sources", "ports"],
  recognizes: has("event_type", "flow_id"),
  contact: (record, isOwn) => {
    const { event_type, src_ip, src_port, dest_ip, dest_port } = record;
    const event = String(event_type);
    if (event === "stats" || isEveAnswer(record)) return undefined;
    const isOurs = (address: unknown) => isOwn(String(address)) || isInside(String(address));
    const [from, to] = [Number(src_port), Number(dest_port)];
    if (!isOurs(src_ip)) {
      const isAnswer =
        ["alert", "anomaly", "fileinfo", "drop"].includes(event) && from > 0 && from < 1_024 && to >= 32_768;
      return isAnswer ? undefined : { source: src_ip, port: dest_port };
    }
    const isServer = from > 0 && from < 32_768 && from !== 53;
    const isAsked = ["dns", "http", "tls"].includes(event);
    return isServer && !isAsked && !isOurs(dest_ip) ? { source: dest_ip, port: src_port } : undefined;
  },
};

const zeek: Counter = {
  name: "zeek",
  says: ["sources", "ports"],
  recognizes: has("id.orig_h"),
  contact: (record, isOwn) => {
    const source = record["id.orig_h"];
    if (record.local_orig === true || isOwn(String(source))) return undefined;
    return { source, port: String(record.proto).includes("icmp") ? undefined : record["id.resp_p"] };
  },
};

const dionaea: Counter = {
  name: "dionaea",
  says: ["sources", "ports", "logins"],
  recognizes: (record) => isFields(record) && "transport" in inner(record.connection),
  contact: ({ connection, src_ip, dst_port, credentials }) => {
    const { username } = inner(credentials);
    if (inner(connection).type === "listen") return undefined;
    return { source: src_ip, port: dst_port, logins: Array.isArray(username) ? username.length : 0 };
  },
};

const heralding: Counter = {
  name: "heralding",
  says: ["sources", "sessions", "ports", "logins"],
  recognizes: has("num_auth_attempts", "session_id"),
  contact: ({ source_ip, session_id, destination_port, num_auth_attempts }) => ({
    source: source_ip,
    session: session_id,
    port: destination_port,
    logins: Number(num_auth_attempts),
  }),
};

const honeytrap: Counter = {
  name: "honeytrap",
  says: ["sources", "ports"],
  recognizes: has("attack_connection"),
  contact: ({ attack_connection }) => {
    const { remote_ip, local_port } = inner(attack_connection);
    return { source: remote_ip, port: local_port };
  },
};

const opencanary: Counter = {
  name: "opencanary",
  says: ["sources", "ports"],
  recognizes: has("logtype", "src_host"),
  contact: ({ src_host, dst_port }) =>
    src_host === "" ? undefined : { source: src_host, port: Number(dst_port) > 0 ? dst_port : undefined },
};

const dockerApi: Counter = {
  name: "docker-api-honeypot",
  says: ["sources", "ports"],
  recognizes: has("view_args", "source", "url"),
  contact: ({ source, _port }) => ({ source, port: _port }),
};

const tpot: Counter = {
  name: "tpot",
  says: ["sources", "ports"],
  recognizes: has("t-pot_ip_ext", "type"),
  contact: (record, isOwn) => {
    const source = record.src_ip ?? record.client_ip ?? inner(record.attack_connection).remote_ip;
    if (source === record["t-pot_ip_ext"] || isOwn(String(source))) return undefined;
    return { source, port: record.dest_port };
  },
};

const mhn: Counter = {
  name: "MHN export",
  says: ["sources", "ports"],
  recognizes: (record) => isFields(record) && "honeypot" in record && "source_ip" in record,
  contact: ({ source_ip, destination_port }) => ({ source: source_ip, port: destination_port }),
};

/** Honeypots of T-Pot in their own files, by the members that hold a source and a port. */
const NAMED: readonly [name: string, sign: readonly string[], source: string, port: string][] = [
  ["p0f", ["mod", "client_ip"], "client_ip", "server_port"],
  ["tanner", ["peer", "method"], "peer.ip", ""],
  ["elasticpot", ["honeypot", "event_type"], "src_ip", "dest_port"],
  ["adbhoney", ["eventid", "unixtime"], "src_ip", "dest_port"],
];

export const JSON_COUNTERS: readonly Counter[] = [
  tpot,
  cowrie,
  eve,
  zeek,
  dionaea,
  heralding,
  honeytrap,
  opencanary,
  dockerApi,
  ...NAMED.map(([name, sign, source, port]): Counter => {
    const [first = "", second] = source.split(".");
    return {
      name,
      says: ["sources", ...(port === "" ? [] : ["ports" as const])],
      recognizes: has(...sign),
      contact: (record) => ({
        source: second === undefined ? record[first] : inner(record[first])[second],
        port: record[port],
      }),
    };
  }),
  mhn,
];
