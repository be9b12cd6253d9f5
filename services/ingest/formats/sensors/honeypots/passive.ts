import { isFields, portAt, textAt } from "../../fields.ts";
import { type Honeypot, spokenIn } from "./honeypot.ts";

/** p0f guesses the system of either end: what it says of a server is about the sensor. */
const p0f: Honeypot = {
  name: "p0f",
  recognizes: (record) => "client_ip" in record && "server_ip" in record && "mod" in record,
  transport: "tcp",
  seesPackets: true,
  read(record) {
    if (/^srv/.test(textAt(record, "subject", "subj") ?? "")) return { ignored: "answer" };
    const system = textAt(record, "os");
    return {
      sourceIp: textAt(record, "client_ip"),
      sourceMembers: ["client_ip"],
      sourcePort: portAt(record, "client_port"),
      destinationPort: portAt(record, "server_port"),
      labels: system === undefined || system === "???" ? [] : [`p0f:${system}`],
    };
  },
};

/** The members in which fatt puts what a client sent, and what only a server's answer has there. */
const SERVER_MEMBERS: readonly (readonly [part: string, member: string])[] = [
  ["ssh", "hasshServer"],
  ["tls", "ja3s"],
  ["http", "serverHeaderHash"],
];

/** Fingerprints of what passes by: a client's record names the source, a server's the sensor. */
const fatt: Honeypot = {
  name: "fatt",
  recognizes: (record) => "sourceIp" in record && "destinationIp" in record && PARTS.some((part) => part in record),
  seesPackets: true,
  read(record) {
    if (SERVER_MEMBERS.some(([part, member]) => isIn(record[part], member))) return { ignored: "answer" };
    const { application } = spokenIn(record);
    const target = textAt(record, "http.requestURI");
    return {
      sourceIp: textAt(record, "sourceIp"),
      sourceMembers: ["sourceIp"],
      sourcePort: portAt(record, "sourcePort"),
      destinationPort: portAt(record, "destinationPort"),
      application,
      transport: application === "gquic" ? "udp" : "tcp",
      // It looks at each packet by itself: the connection around a hello or request may be forged.
      established: false,
      tls: { ja3: textAt(record, "tls.ja3") },
      ssh: { hassh: textAt(record, "ssh.hassh"), banner: textAt(record, "ssh.client") },
      ...(target !== undefined && {
        http: {
          method: textAt(record, "http.requestMethod"),
          target,
          userAgent: textAt(record, "http.userAgent"),
        },
      }),
    };
  },
};
const PARTS = ["ssh", "tls", "rdp", "http", "gquic"];

const isIn = (value: unknown, member: string) => isFields(value) && Object.hasOwn(value, member);

export const PASSIVE_MONITORS: readonly Honeypot[] = [p0f, fatt];
