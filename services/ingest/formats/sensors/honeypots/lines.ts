import type { Fields } from "../../fields.ts";

/** Ciscoasa's lines look like Python's dicts, but what visitors sent stands in them without escapes. */
const CISCOASA =
  /^\{'timestamp': '([^']+)', 'src_ip': '([^']+)', (?:'src_port': (\d+), )?'payload_printable': (.*)\}$/s;
const ENDLESSH = /^(\S+) (?:ACCEPT|CLOSE) host=(\S+) port=(\d+) /;

/** A line of Ciscoasa's log; undefined for any other. */
export function readCiscoasaLine(line: string): Fields | undefined {
  const [, timestamp, src_ip, src_port, payload = ""] = CISCOASA.exec(line) ?? [];
  if (timestamp === undefined) return undefined;
  return { timestamp, src_ip, ...(src_port && { src_port }), payload_printable: payload.replace(/^'(.*)'$/s, "$1") };
}

/** A line of Endlessh's log about a visitor; undefined for any other. */
export function readEndlesshLine(line: string): Fields | undefined {
  const [whole, timestamp, src_ip, src_port] = ENDLESSH.exec(line) ?? [];
  return whole === undefined ? undefined : { timestamp, reason: whole.split(" ", 2)[1], src_ip, src_port };
}

/** A line of Wordpot's about a request, which says no time: of those that a plugin answered there is a record, too. */
export function readWordpotLine(line: string): Fields | undefined {
  const [, probed] = /^[\d.]+ probed for (.*)$/s.exec(line) ?? [];
  return probed === undefined ? undefined : { probed };
}

/** What Ciscoasa, Ddospot, Endlessh, Wordpot and Python itself write into a log of visitors. */
const OWN_LINE =
  /^(?:info$|unsupported packet$|St(?:arting|opping) server|Flushing information |Database flush |New attack started |Threshold reached |\S+ (?:Port|Delay|MaxLineLength|MaxClients|BindFamily|TOTALS) |Honeypot started on |Loading conf file: |Checking command line options$|hpfeeds is disabled$|-{40}$|Exception |Traceback )/;
/** With it the lines of code end that Python shows for an error. */
const ERROR_LINE = /^[A-Za-z_.]+(?:Error|Exception|Interrupt)\b/;

/** Tells of the lines of one stream, in order, whether those that are no records are about the honeypot itself. */
export function openOwnLines(): (line: string) => boolean {
  let isInTraceback = false;
  return (line) => {
    const isOwn = isInTraceback || OWN_LINE.test(line);
    isInTraceback = line.startsWith("Traceback ") || (isInTraceback && !ERROR_LINE.test(line));
    return isOwn;
  };
}
