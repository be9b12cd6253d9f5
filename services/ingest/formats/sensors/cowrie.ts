import { toObservation } from "../draft.ts";
import { type Fields, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

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
]);
/** Events that are a label by themselves. */
const LABELS = new Set([
  "client.var",
  "login.success",
  "session.file_download",
  "session.file_upload",
  "direct-tcpip.request",
]);

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
  const isLogin = event === "login.failed" || event === "login.success";
  const isProxying = event === "direct-tcpip.request";
  const digest = textAt(record, "shasum");
  const banner = event === "client.version" ? withoutRepr(textAt(record, "version")) : undefined;
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
      application: textAt(record, "protocol") ?? (isProxying || banner?.startsWith("SSH-") ? "ssh" : undefined),
      session: textAt(record, "session"),
      credentials: isLogin ? [{ username: toText(record.username), password: toText(record.password) }] : [],
      loginAttempts: isLogin ? 1 : undefined,
      commands: event === "command.input" ? [textAt(record, "input") ?? ""].filter(Boolean) : [],
      urls: event.startsWith("session.file") ? [textAt(record, "url") ?? ""].filter(Boolean) : [],
      payloadSha256: event.startsWith("session.file") ? [digest] : [],
      labels: LABELS.has(event) ? [`cowrie:${event}`] : [],
      hassh: event === "client.kex" ? textAt(record, "hassh") : undefined,
      sshBanner: banner,
      key: [record.session, record.timestamp, event, record.message],
    },
    options,
  );
}

/** Cowrie before version 2 wrote the representation of Python's bytes: `b'SSH-2.0-Go'`. */
function withoutRepr(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (/^b(['"])(.*)\1$/s.exec(text)?.[2] ?? text);
}
