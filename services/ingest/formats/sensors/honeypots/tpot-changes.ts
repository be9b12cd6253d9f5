import { type Fields, portAt, textAt, toText } from "../../fields.ts";
import { firstTime } from "./honeypot.ts";

/** What T-Pot's Logstash does to the records of a honeypot, said the other way round: how they are as it wrote them. */
type Changes = {
  /** The honeypot's own members, and what they are renamed to. */
  readonly renames?: Readonly<Record<string, string>>;
  /** Own members that held an address and its port, and the two that they are split into. */
  readonly splits?: Readonly<Record<string, readonly [address: string, port: string]>>;
  /** Own members that renaming does not bring back. */
  readonly rebuild?: (record: Fields) => Fields;
  /** Own members that Logstash would add, were they not there: elsewhere they name the log file and the container. */
  readonly keeps?: readonly ("path" | "host")[];
};

const TARGET = { dst_ip: "dest_ip", dst_port: "dest_port" };
const HTTP = { ...TARGET, request: "request_method", user_agent: "http_user_agent", url: "http.url" };

/**
 * By T-Pot's `type` in lower case: its types of August 2026. What Logstash adds (`dest_port` of some, `geoip`,
 * `ip_rep`, `t-pot_*`) and removes (times, once they are in `@timestamp`) needs no entry.
 */
export const TPOT_CHANGES: ReadonlyMap<string, Changes> = new Map<string, Changes>(
  Object.entries({
    adbhoney: {},
    beelzebub: {},
    ciscoasa: {},
    citrixhoneypot: { rebuild: citrixMessage },
    conpot: { renames: TARGET },
    cowrie: { renames: TARGET },
    ddospot: {},
    dicompot: { renames: { ID: "id", IP: "src_ip", Port: "src_port", Command: "input", Status: "session" } },
    dionaea: { renames: TARGET, rebuild: dionaeaCredentials },
    elasticpot: { renames: { ...HTTP, message: "event_type" } },
    endlessh: {},
    fatt: {
      renames: {
        sourceIp: "src_ip",
        sourcePort: "src_port",
        destinationIp: "dest_ip",
        destinationPort: "dest_port",
        gquic: "fatt_gquic",
        http: "fatt_http",
        rdp: "fatt_rdp",
        ssh: "fatt_ssh",
        tls: "fatt_tls",
      },
    },
    galah: {},
    glutton: { keeps: ["path"] },
    "go-pot": { keeps: ["path", "host"], renames: { duration: "session_duration" } },
    h0neytr4p: {},
    hellpot: {
      renames: { REMOTE_ADDR: "src_ip", URL: "url", USERAGENT: "http_user_agent", message: "reason" },
    },
    heralding: {},
    honeyaml: { keeps: ["path", "host"] },
    honeypots: {},
    honeytrap: {
      renames: {
        "attack_connection.local_ip": "dest_ip",
        "attack_connection.local_port": "dest_port",
        "attack_connection.remote_ip": "src_ip",
        "attack_connection.remote_port": "src_port",
      },
    },
    ipphoney: { renames: { ...HTTP, query: "ipp_query", operation: "data" } },
    log4pot: { renames: { request: "request_uri", server_port: "dest_port", port: "src_port", client: "src_ip" } },
    mailoney: {},
    medpot: {},
    miniprint: {},
    nginx: { renames: { request: "request_data" } },
    p0f: { renames: { client_ip: "src_ip", client_port: "src_port", server_ip: "dest_ip", server_port: "dest_port" } },
    rdphoneypot: { renames: TARGET },
    redishoneypot: { splits: { addr: ["src_ip", "src_port"] } },
    sentrypeer: { renames: { destination_ip: "dest_ip" }, splits: { source_ip: ["src_ip", "src_port"] } },
    suricata: {},
    tanner: { keeps: ["path"], renames: { "peer.ip": "src_ip", "peer.port": "src_port" } },
    wordpot: {},
  } satisfies Record<string, Changes>),
);

/** T-Pot keeps its logs there. */
const LOG_FILE = /^\/data\/[^/]+\/log\//;

/** A record of T-Pot's Logstash as its honeypot wrote it; what Logstash added stays, but for its `type`, `path` and `host`. */
export function asWritten(record: Fields, changes: Changes = {}): Fields {
  const { keeps = [], renames = {}, splits = {} } = changes;
  const hasPath = keeps.includes("path") && !LOG_FILE.test(toText(record.path) ?? "");
  const written: Record<string, unknown> = {
    ...record,
    timestamp: firstTime(record.timestamp, record["@timestamp"]),
    type: undefined,
    path: hasPath ? record.path : undefined,
    host: hasPath && keeps.includes("host") ? record.host : undefined,
    ...changes.rebuild?.(record),
  };
  for (const name in renames) {
    const value = record[renames[name] ?? ""];
    if (value !== undefined) written[name] = value;
  }
  for (const name in splits) {
    const [address = "", port = ""] = splits[name] ?? [];
    const number = portAt(record, port);
    const text = textAt(record, address);
    if (text !== undefined) written[name] = number === undefined || number === 0 ? text : `${text}:${number}`;
  }
  return written;
}

/** Logstash takes the message apart: `(192.0.2.1:4711): GET Header: /path`. */
function citrixMessage(record: Fields): Fields {
  const method = textAt(record, "http.http_method");
  const text = textAt(record, "fileinfo.filename", "payload");
  const said =
    method === undefined ? textAt(record, "msg") : `${method} ${textAt(record, "fileinfo.state")}: ${text ?? ""}`;
  return said === undefined ? {} : { message: `(${textAt(record, "src_ip")}:${textAt(record, "src_port")}): ${said}` };
}

const MAX_PAIRS = 1_000;

/** Logstash joins the lists of names and of passwords by commas. */
function dionaeaCredentials(record: Fields): Fields {
  if (!("username" in record || "password" in record)) return {};
  const [username, password] = [toText(record.username) ?? "", toText(record.password) ?? ""];
  const [names, passwords] = [username.split(",", MAX_PAIRS), password.split(",", MAX_PAIRS)];
  // A name or password with a comma of its own: which belong together is lost.
  const isOne = names.length !== passwords.length;
  return { credentials: { username: isOne ? [username] : names, password: isOne ? [password] : passwords } };
}
