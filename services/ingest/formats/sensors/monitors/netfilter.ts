import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { toObservation } from "../../draft.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../../format.ts";
import { readSyslogHead } from "../../text/syslog.ts";
import { icmpAnswer } from "./icmp.ts";

const SOURCE = /\bSRC=(\S*)( DST=[\da-fA-F.:]+ )?/;
/** A prefix that ends without a blank touches them. */
const INTERFACES = /IN=(\S{0,64}) OUT=(\S{0,64})/;
const FIELD = {
  transport: /\bPROTO=(\S+)/,
  sourcePort: /\bSPT=(\d{1,5})(?!\S)/,
  destinationPort: /\bDPT=(\d{1,5})(?!\S)/,
  icmpType: /\bTYPE=(\d+)/,
} as const;
const FLAG = {
  rst: / RST(?: |$)/,
  ack: / ACK(?: |$)/,
  fin: / FIN(?: |$)/,
  syn: / SYN(?: |$)/,
  psh: / PSH(?: |$)/,
  synPshUrg: / (?:SYN|PSH|URG)(?: |$)/,
} as const;

/** Lines that iptables, nftables or ulogd log, also for people without a honeypot: a packet each. */
export const netfilter: LogFormat = {
  name: "netfilter",
  description: "packets logged by iptables or nftables (dshield.log, kern.log, ufw.log)",
  text: {
    recognizes(line) {
      const packet = line.includes("PROTO=") ? findPacket(line) : undefined;
      return packet?.hasDestination === true && FIELD.transport.test(packet.text);
    },
    open: () => decodePacket,
  },
};

type Packet = {
  readonly source: string;
  readonly hasDestination: boolean;
  /** From its addresses on, without the packet that an ICMP error quotes in brackets. */
  readonly text: string;
  /** Where it begins in its line. */
  readonly index: number;
};

function findPacket(line: string): Packet | undefined {
  const found = SOURCE.exec(line);
  if (found === null) return undefined;
  const { index, 1: source = "", 2: destination } = found;
  const bracket = line.indexOf("[", index);
  const text = line.slice(index, bracket < 0 ? line.length : bracket);
  return { source, hasDestination: destination !== undefined, text, index };
}

function decodePacket(line: string, options: DecodeOptions): Decoded {
  const packet = findPacket(line);
  if (packet === undefined) return { ignored: "other-program" };
  const { source, text } = packet;
  const interfaces = INTERFACES.exec(line);
  const isSent = interfaces?.[1] === "" && interfaces[2] !== "";
  if (isSent || options.isOwnAddress(source)) return { ignored: "own-traffic" };
  const transport = FIELD.transport.exec(text)?.[1];
  if (transport === undefined) return { rejection: cutOff(line) };
  const isIcmp = /icmp|^1$|^58$/i.test(transport);
  const [sourcePort, destinationPort] = isIcmp
    ? []
    : [portOf(text, FIELD.sourcePort), portOf(text, FIELD.destinationPort)];
  const answer = isIcmp ? icmpAnswer(icmpTypeOf(text)) : tcpAnswer(transport, text, { sourcePort, destinationPort });
  if (answer !== undefined) return { ignored: answer };
  const { time, host, end } = readSyslogHead(line);
  if (!options.countsAccepted && saysAccepted(line.slice(end, interfaces?.index ?? packet.index))) {
    return { ignored: "accepted-visit" };
  }
  return toObservation(
    {
      format: "netfilter",
      // The line's beginning, so that a rejection shows what could not be read.
      observedAt: time ?? line.slice(end, end + MAX_PREFIX),
      sensor: host === undefined || ACTION.test(host) ? undefined : host,
      sourceIp: source === "" ? undefined : source,
      sourceMembers: ["SRC"],
      sourcePort,
      destinationPort,
      transport,
      key: [line],
    },
    options,
  );
}

function portOf(packet: string, field: RegExp): number | undefined {
  const text = field.exec(packet)?.[1];
  return text === undefined ? undefined : Number(text);
}

function icmpTypeOf(packet: string): number | undefined {
  const text = FIELD.icmpType.exec(packet)?.[1];
  return text === undefined ? undefined : Number(text);
}

function cutOff(line: string): Rejection {
  return {
    reason: "invalid-observation",
    detail: `the line of a packet ends before PROTO=: …${line.slice(-40)}`,
  };
}

type Ports = { readonly sourcePort: number | undefined; readonly destinationPort: number | undefined };

/** Why a packet of TCP begins nothing. Without flags, or with those of a stealth scan (none, FIN PSH URG), it counts. */
function tcpAnswer(transport: string, packet: string, { sourcePort = 0, destinationPort = 0 }: Ports) {
  if (transport !== "TCP" && transport !== "6") return undefined;
  if (FLAG.rst.test(packet)) return "answer";
  const [isAck, isFin] = [FLAG.ack.test(packet), FLAG.fin.test(packet)];
  if (!isAck) return isFin && !FLAG.synPshUrg.test(packet) ? "answer" : undefined;
  // Data within a connection may be a client's, unless it comes from a service's port.
  const isData = !isFin && FLAG.psh.test(packet) && !FLAG.syn.test(packet);
  return isData && !(sourcePort < 1_024 && destinationPort >= 1_024) ? undefined : "answer";
}

/** Words by which firewalls tell what they did with a packet. */
const DENIED = /(?<![a-z])(?:drop|block|reject|den(?:y|ied))(?:[pt]?ed)?(?![a-z])/i;
const ACCEPTED = /(?<![a-z])(?:accept|allow|pass|permit)(?:[pt]?ed)?(?![a-z])/i;
const ACTION = new RegExp(`^(?:${DENIED.source}|${ACCEPTED.source})$`, "i");
/**
 * What the rule did, as EdgeOS (`[WAN_LOCAL-10-A]`), VyOS and UniFi (`[WAN_LOCAL-A-2147483647]`) write it before the
 * rule's description: accept, return, drop or reject.
 */
const MARK = /\[[^[\]\s]*-(A|RET|D|R)(?:-\d+)?\]/;
/** ufw's mark of a new connection, which has a line of its own if it is blocked. */
const AUDIT = "[UFW AUDIT";
/** nftables takes prefixes of 127 characters; Proxmox writes more before them. */
const MAX_PREFIX = 200;

/** Whether the prefix of a line, like `[UFW ALLOW]` or `policy ACCEPT:`, says that the packet was let in. */
function saysAccepted(prefix: string): boolean {
  const mark = MARK.exec(prefix)?.[1];
  if (mark !== undefined) return mark === "A" || mark === "RET";
  const words = prefix.slice(-MAX_PREFIX);
  return (ACCEPTED.test(words) || words.includes(AUDIT)) && !DENIED.test(words);
}
