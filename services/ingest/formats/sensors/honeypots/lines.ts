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

/** What Ciscoasa, Ddospot, Endlessh and Python itself write into a log of visitors. */
const OWN_LINE =
  /^(?:info$|unsupported packet$|St(?:arting|opping) server|Flushing information |Database flush |New attack started |Threshold reached |\S+ (?:Port|Delay|MaxLineLength|MaxClients|BindFamily|TOTALS) |-{40}$|Exception |Traceback )/;
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
