import { type HttpDraft, toObservation } from "../draft.ts";
import { type Fields, isFields, objectAt, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readHeaderFields } from "./payload.ts";
import { readPythonDict } from "./python-literal.ts";

const SIGNS = "server (like ssh_server), action, dest_port and src_ip";

/**
 * The package `honeypots` of PyPI. Its files hold a Python dict a line, without a time, or JSON; what it prints is
 * JSON.
 */
export const honeypots: LogFormat = {
  name: "honeypots",
  description: "the honeypots package (qeeqbox), JSON or Python's dicts; a dict has no time and counts as of now",
  json: { signs: SIGNS, recognizes, decode: decodeHoneypots },
  text: {
    recognizes: (line) => line.startsWith("{'") && recognizes(readPythonDict(line) ?? {}),
    open: () => (line, options) => {
      const record = readPythonDict(line);
      if (record !== undefined && recognizes(record)) return decodeHoneypots(record, options);
      return {
        rejection: { reason: "unknown-format", detail: `the line is no record of honeypots: ${SIGNS} expected` },
      };
    },
  },
};

function recognizes(record: Fields): boolean {
  const { server, protocol, action } = record;
  if (typeof action !== "string" || !("dest_port" in record)) return false;
  if (typeof server === "string") return /^[a-z0-9_]+_server$/.test(server);
  return typeof protocol === "string" && SERVERS.has(protocol) && "src_port" in record && "dest_ip" in record;
}

/** T-Pot's configuration has `ftp_server` logged as `ftp`, and calls it the protocol. */
const SERVERS: ReadonlySet<string> = new Set(
  (
    "dhcp dns elastic ftp http http_proxy httpproxy https imap ipp irc ldap memcache mssql mysql ntp oracle pjl pop3 " +
    "postgres rdp redis sip smb smtp snmp socks5 ssh telnet vnc"
  ).split(" "),
);

/** Applications by their servers' names, where these are other ones. */
const APPLICATIONS = new Map(
  Object.entries({
    http_proxy: "http",
    httpproxy: "http",
    https: "http",
    memcache: "memcached",
    oracle: "oracle-tns",
    pjl: "printer",
    postgres: "postgresql",
    elastic: "elasticsearch",
  }),
);
const UDP = new Set(["dhcp", "dns", "ntp", "sip", "snmp"]);

export function decodeHoneypots(record: Fields, options: DecodeOptions): Decoded {
  const action = textAt(record, "action");
  const server = (textAt(record, "server", "protocol") ?? "").replace(/_server$/, "");
  if (action === "process") return { ignored: "about-sensor" };
  // A web server logs a request as a connection, with all of it, and again as its method alone; FTP a login thrice.
  const isRepeated = server.startsWith("http") ? action === "GET" || action === "POST" : isCredential(record);
  if (isRepeated) return { ignored: "no-behaviour" };
  const username = givenAt(record, "username");
  const sent = givenAt(record, "password");
  const password = CHALLENGED.has(server) && CHALLENGE_ANSWER.test(sent ?? "") ? undefined : sent;
  const isLogin = action === "login" && (username !== undefined || password !== undefined);
  return toObservation(
    {
      format: "honeypots",
      observedAt: record.timestamp ?? new Date(options.now()).toISOString(),
      writesUtc: true,
      sourceIp: textAt(record, "src_ip"),
      sourceMembers: ["src_ip"],
      sourcePort: portAt(record, "src_port"),
      destinationPort: portAt(record, "dest_port"),
      transport: UDP.has(server) ? "udp" : "tcp",
      established: UDP.has(server) ? undefined : true,
      application: APPLICATIONS.get(server) ?? server,
      credentials: isLogin ? [{ username, password }] : [],
      loginAttempts: action === "login" ? 1 : 0,
      commands: commandsOf(record),
      http: requestOf(record, server),
    },
    options,
  );
}

const CHALLENGED = new Set(["mysql", "vnc"]);
/** What clients send there instead of a password: the server's challenge, encrypted with it. */
const CHALLENGE_ANSWER = /^(?:DES:[0-9a-f]+|[0-9a-f]{40}|[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){7,})$/i;

/** `None` is Python's word for a name or password that was not sent. */
function givenAt(record: Fields, name: string): string | undefined {
  const text = textAt(record, name);
  return text === "None" ? undefined : text;
}

/** USER and PASS are in the record of the login, too. */
const isCredential = (record: Fields) => /^(?:USER|PASS)$/i.test(textAt(record, "data.cmd") ?? "");

/** With the option `capture_commands`: a line, or a command and its arguments, which FTP logs as a Python tuple. */
function commandsOf(record: Fields): string[] {
  const { cmd, args, command } = objectAt(record, "data");
  const words = /^\('(.*?)',?\)$/s.exec(toText(args) ?? "")?.[1] ?? toText(args);
  const text = toText(command) ?? [toText(cmd), words].filter((word) => word !== undefined && word !== "()").join(" ");
  return text === "" ? [] : [text];
}

/** The web servers log the header fields, `method` and `uri` as members of one object, with that option. */
function requestOf({ data, headers }: Fields, server: string): HttpDraft | undefined {
  if (server === "elastic" && typeof data === "string" && isFields(headers)) {
    const [method, target] = data.split(" ", 2);
    return { ...readHeaderFields(textFields(headers)), method, target };
  }
  if (!server.startsWith("http") || !isFields(data)) return undefined;
  const { method, uri, ...fields } = data;
  const target = toText(uri);
  return target === undefined ? undefined : { ...readHeaderFields(textFields(fields)), method: toText(method), target };
}

const textFields = (fields: Fields) =>
  Object.entries(fields).map(([name, value]): [string, string] => [name, toText(value) ?? ""]);
