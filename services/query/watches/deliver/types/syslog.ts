import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { cut, showInvisible } from "@noisefloor/domain/text/show-invisible.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { MAX_SUMMARY, MAX_TITLE } from "../plain-text.ts";
import { assertAllowed, type DestinationPolicy } from "../policy.ts";

type Syslog = Extract<Destination, { type: "syslog" }>;

/** Of local use 0. */
const FACILITY = 16;
const WARNING = 4;
const INFORMATIONAL = 6;
/** With the number of RFC 5612, as no registered one is Noisefloor's. */
const SD_ID = "noisefloor@32473";

/** A message of RFC 5424. @param host the name of this machine. */
export function syslogMessage(event: WatchEvent, host: string): string {
  const priority = FACILITY * 8 + (event.type === "test" ? INFORMATIONAL : WARNING);
  const values = { event: event.id, watch: event.watch.id, name: cut(event.watch.name, MAX_TITLE), link: event.link };
  const data = Object.entries(values).map(([name, value]) => ` ${name}="${escapeValue(showInvisible(value))}"`);
  const summary = cut(showInvisible(event.summary), MAX_SUMMARY);
  // The mark says that it is UTF-8, and ASCII alone needs none.
  const mark = /^[\x20-\x7e]*$/.test(summary) ? "" : "\ufeff";
  const name = host.replace(/[^\x21-\x7e]/g, "").slice(0, 255) || "-";
  return `<${priority}>1 ${event.detected_at} ${name} noisefloor - ${event.type} [${SD_ID}${data.join("")}] ${mark}${summary}`;
}

const escapeValue = (text: string) => text.replace(/["\\\]]/g, "\\$&");

/**
 * Sends a message with its length (RFC 6587, 5425), over a connection of its own. Syslog has no answers: that the receiver
 * closes after our end says that it has read it.
 * @throws Error when it does not within the time of the signal.
 */
export async function sendSyslog(
  { host, port, transport }: Syslog,
  message: string,
  {
    policy,
    ca,
    signal,
  }: { readonly policy: DestinationPolicy; readonly ca: string | undefined; readonly signal: AbortSignal },
): Promise<void> {
  assertAllowed(host, policy);
  signal.throwIfAborted();
  const options = { host, port, lookup: policy.lookup };
  const tls = { ...options, ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) };
  const socket: Socket = transport === "tls" ? connectTls(tls) : connectTcp(options);
  const stop = () => socket.destroy(new Error("the receiver did not close the connection"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => resolve());
      // Nothing is expected, but unread bytes would keep the end from being seen.
      socket.resume();
      socket.end(`${Buffer.byteLength(message)} ${message}`);
    });
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}
