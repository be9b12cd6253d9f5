import { type HttpDraft, toObservation } from "../draft.ts";
import { type Fields, portAt, textAt, textsAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { unescapeText } from "../text/unescape.ts";
import { cveLabels } from "./monitors/suricata/suricata-eve.ts";
import { readHttpRequest } from "./payload.ts";

/** Events that say something about the source. The others describe the sensor, or repeat these. */
const BEHAVIOURS = new Set([
  "session.connect",
  "client.version",
  "client.kex",
  "client.fingerprint",
  "client.var",
  "login.failed",
  "login.success",
  "command.input",
  "session.file_download",
  "session.file_download.failed",
  "session.file_upload",
  "direct-tcpip.request",
  "telnet.exploit_attempt",
  "telnet.exploit_success",
]);
/** Events that are a label by themselves. */
const LABELS = new Set([
  "client.var",
  "login.success",
  "session.file_download",
  "session.file_upload",
  "direct-tcpip.request",
  "telnet.exploit_attempt",
  "telnet.exploit_success",
]);
/** Programs whose input is a new password, and no command. */
const PASSWORD_PROGRAMS = new Set(["passwd", "chpasswd"]);
/** What other protocols begin with: at the Telnet port their first line takes the place of a user name. */
const OTHER_PROTOCOL = /^(?:[A-Z]{3,16} \S+ (?:HTTP|RTSP|SIP)\/\d|SSH-\d)/;

/**
 * Cowrie's JSON log, one event a line, joined by its session. Before version 3 only `session.connect` names ports and
 * protocol.
 */
export const cowrie: LogFormat = {
  name: "cowrie",
  description: "Cowrie's JSON log (cowrie.json): SSH and Telnet sessions",
  json: {
    signs: 'eventid that begins with "cowrie."',
    recognizes: (record) => textAt(record, "eventid")?.startsWith("cowrie.") === true,
    decode: decodeCowrie,
  },
};

export function decodeCowrie(record: Fields, options: DecodeOptions): Decoded {
  const event = textAt(record, "eventid")?.replace(/^cowrie\./, "") ?? "";
  if (!BEHAVIOURS.has(event)) return { ignored: "no-behaviour" };
  // Only since version 3 every event names the protocol.
  const typed = "protocol" in record ? typedText : toText;
  const username = event.startsWith("login.") ? typed(record.username) : undefined;
  const isOther = username !== undefined && record.protocol !== "ssh" && OTHER_PROTOCOL.test(username);
  const isLogin = event.startsWith("login.") && !isOther;
  const password = typed(record.password);
  const said = event === "client.version" ? readFirstLine(typed(record.version)) : undefined;
  // Without an address the shell itself wrote the file, by a redirection.
  const isRedirection = event === "session.file_download" && textAt(record, "url") === undefined;
  const isCommand = event === "command.input" && !PASSWORD_PROGRAMS.has(textAt(record, "realm") ?? "");
  const isProxying = event === "direct-tcpip.request";
  const digest = textAt(record, "shasum");
  return toObservation(
    {
      format: "cowrie",
      observedAt: record.timestamp,
      sensor: textAt(record, "sensor"),
      sourceIp: textAt(record, "src_ip"),
      sourceMembers: ["src_ip"],
      // There the ports are those of the connection that the source asks for.
      sourcePort: isProxying ? undefined : portAt(record, "src_port"),
      destinationPort: isProxying ? undefined : portAt(record, "dst_port", "dest_port"),
      transport: "tcp",
      established: true,
      application: textAt(record, "protocol") ?? applicationOf(event, said?.sshBanner),
      session: textAt(record, "session"),
      credentials: isLogin ? [{ username, password }] : [],
      loginAttempts: isLogin ? 1 : undefined,
      commands: isCommand ? textsAt(record, "input") : [],
      urls: event.startsWith("session.file") ? textsAt(record, "url") : [],
      payloadSha256: event.startsWith("session.file") ? [digest] : [],
      labels: LABELS.has(event) && !isOther && !isRedirection ? [`cowrie:${event}`, ...cvesOf(record, event)] : [],
      http: isOther ? readHttpRequest([username, password].join("\r\n")) : said?.http,
      ssh: { hassh: event === "client.kex" ? textAt(record, "hassh") : undefined, banner: said?.sshBanner },
      key: [record.session, record.timestamp, event, record.message],
    },
    options,
  );
}

/** Before version 3 only the connection's event says it. */
function applicationOf(event: string, banner: string | undefined): string | undefined {
  if (event.startsWith("telnet.")) return "telnet";
  return event === "direct-tcpip.request" || banner?.startsWith("SSH-") ? "ssh" : undefined;
}

const cvesOf = (record: Fields, event: string) =>
  event.startsWith("telnet.") ? textsAt(record, "cve").flatMap(cveLabels) : [];

/** What came first at the SSH port: a banner, or a request of somebody who took it for a web server. */
export function readFirstLine(line: string | undefined): {
  sshBanner?: string | undefined;
  http?: HttpDraft | undefined;
} {
  const text = withoutRepr(line);
  return text === undefined || text.startsWith("SSH-") ? { sshBanner: text } : { http: readHttpRequest(text) };
}

/** Cowrie before version 2 wrote the representation of Python's bytes: `b'SSH-2.0-Go'`. */
function withoutRepr(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (/^b(['"])(.*)\1$/s.exec(text)?.[2] ?? text);
}

/** What Cowrie 3.1 writes for names, passwords and banners: `\xd0` for each byte that is no printable ASCII. */
const ESCAPED = /^(?:[ -[\]-~]|\\\\|\\x[\da-f]{2})*$/;

/** A name, password or banner as it was typed. Bytes that are not UTF-8 stay as they are written. */
export function typedText(value: unknown): string | undefined {
  const text = toText(value);
  if (!text?.includes("\\") || !ESCAPED.test(text)) return text;
  const typed = unescapeText(text);
  return typed.includes("\ufffd") ? text : typed;
}
