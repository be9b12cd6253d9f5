/** What stands before the message of a line of a system log. */
export type SyslogHead = {
  /** As it is written, for `readTime`; undefined when the line begins with none. */
  readonly time: string | undefined;
  /** The host that logged the message; undefined where the log names none, as `dmesg -T` and OpenWrt's `logread`. */
  readonly host: string | undefined;
  /** Where the message begins, often with the program's name. */
  readonly end: number;
};

const CLOCK = String.raw`\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`;
const OFFSET = String.raw`(?:Z|[+-]\d\d(?::?\d\d)?)`;
const MONTH_DAY = String.raw`[A-Z][a-z]{2} (?: ?\d|\d\d)`;
const ISO_DATE = String.raw`\d{4}[-/]\d\d[-/]\d\d`;

/** The times with which lines begin. */
const TIMES = [
  // RFC 3339 of rsyslog, journalctl -o short-iso, and times without a zone
  `${ISO_DATE}[T ]${CLOCK}(?: ?(?:${OFFSET}|UTC|GMT))?`,
  // journalctl -o short-full
  `[A-Z][a-z]{2} ${ISO_DATE} ${CLOCK} (?:${OFFSET}|[A-Z]{1,5})`,
  // syslog as of RFC 3164, also with a year or a zone
  String.raw`${MONTH_DAY},?(?: \d{4})? ${CLOCK}(?: (?:${OFFSET}|UTC|GMT))?(?: \d{4})?`,
  String.raw`\d{4} ${MONTH_DAY} ${CLOCK}`,
  // OpenWrt's logread, date
  String.raw`[A-Z][a-z]{2} ${MONTH_DAY} ${CLOCK}(?: (?:${OFFSET}|[A-Z]{1,5}))? \d{4}`,
  // MikroTik
  String.raw`[A-Za-z]{3}/\d\d(?:/\d{4})? ${CLOCK}`,
  // seconds since 1970, of journalctl -o short-unix and of DShield
  String.raw`\d{9,19}(?:\.\d+)?`,
];
const TIME = new RegExp(`(?:${TIMES.join("|")})(?= |$)`, "y");
/** What dmesg -x, a relay that counts bytes, and syslog over a network put before a line. */
const PRIORITY = /^(?:\d{1,5} (?=<)|[a-z]+ *:[a-z]+ *: )?(?:<\d{1,3}>)?/;
const RFC5424 =
  /^(?:\d{1,5} )?<\d{1,3}>1 (\S+) (\S+) \S+ \S+ \S+ (?:-|(?:\[(?:[^\]"\\]|\\.|"(?:[^"\\]|\\.)*")*\])+)(?: |$)/;
const DMESG = /\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ?/y;
/** The firewall of Proxmox: the guest, a level, its chain, a time. */
const PROXMOX = /\d+ \d \S+ (\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}) /y;
const TOKEN = / *(\S+)(?: |$)/y;
/** Facility and level, which BusyBox and OpenWrt put before the program, and a kernel's seconds between them. */
const FACILITY =
  / *(?:\[[\d.]+\] )?(?:kern|user|mail|daemon|auth|authpriv|syslog|lpr|news|uucp|cron|ftp|ntp|local\d)\.(?:emerg|panic|alert|crit|err|error|warn|warning|notice|info|debug) /y;
/** Neither a number nor a clock: the sensor is never called after a part of a time. */
const HOST = /^(?!\d+(?:\.\d+)?$|\d\d:\d\d:)[\p{L}\d_][\p{L}\d_.:%-]*$/u;

/**
 * Reads the head of a line of a system log, in the spellings of RFC 3164, RFC 5424, rsyslog, journalctl, dmesg,
 * BusyBox, OpenWrt and Proxmox, with or without a priority.
 */
export function readSyslogHead(line: string): SyslogHead {
  const structured = RFC5424.exec(line);
  if (structured !== null) {
    const [head, time, host] = structured;
    return { time: named(time), host: named(host), end: head.length };
  }
  const start = PRIORITY.exec(line)?.[0].length ?? 0;
  const time = matchAt(TIME, line, start)?.[0];
  if (time !== undefined) return { time, ...readHost(line, start + time.length, time) };
  const hostless = matchAt(DMESG, line, start) ?? matchAt(PROXMOX, line, start);
  return { time: hostless?.[1], host: undefined, end: start + (hostless?.[0].length ?? 0) };
}

function readHost(line: string, start: number, time: string): Omit<SyslogHead, "time"> {
  // A relay has put its own time before the line.
  const inner = matchAt(TIME, line, start + 1)?.[0];
  if (inner !== undefined) return readHost(line, start + 1 + inner.length, inner);
  const facility = matchAt(FACILITY, line, start)?.[0];
  // dmesg --time-format iso writes a comma, and no host.
  if (facility !== undefined || time.includes(",")) return { host: undefined, end: start + (facility?.length ?? 0) };
  const token = matchAt(TOKEN, line, start);
  const [whole = "", host = ""] = token ?? [];
  // What ends in a colon is the program of a log without hosts.
  if (host.endsWith(":") || host === "kernel" || !HOST.test(host)) return { host: undefined, end: start };
  const end = start + whole.length;
  return { host, end: end + (matchAt(FACILITY, line, end)?.[0].length ?? 0) };
}

const named = (text: string | undefined) => (text === "-" ? undefined : text);

function matchAt(sticky: RegExp, line: string, index: number): RegExpExecArray | null {
  sticky.lastIndex = index;
  return sticky.exec(line);
}
