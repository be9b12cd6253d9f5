import { toObservation } from "../draft.ts";
import { at, type Fields, isFields, listAt, objectAt, portAt, textAt, textsAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, IgnoredReason, LogFormat } from "../format.ts";

/** Dionaea's names of the modules that answered, and what others call these protocols. */
const APPLICATIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    smbd: "smb",
    mssqld: "mssql",
    mysqld: "mysql",
    httpd: "http",
    ftpd: "ftp",
    mqttd: "mqtt",
    mongod: "mongodb",
    pptpd: "pptp",
    memcached: "memcached",
    epmapper: "epmapper",
    sipsession: "sip",
    sipcall: "sip",
    tftpserverhandler: "tftp",
    upnpd: "upnp",
    printerd: "printer",
    blackhole: "",
    mirrord: "",
    pcap: "",
  }),
);

const UDP_SERVERS = new Set(["sipsession", "sipcall", "tftpserverhandler"]);

/** Dionaea's JSON log: its flat form, and the nested one of older versions. */
export const dionaea: LogFormat = {
  name: "dionaea",
  description: "Dionaea's JSON log (dionaea.json)",
  json: {
    signs: "connection.protocol and connection.transport",
    recognizes: (record) =>
      textAt(record, "connection.protocol") !== undefined && textAt(record, "connection.transport") !== undefined,
    decode: decodeDionaea,
  },
};

export function decodeDionaea(record: Fields, options: DecodeOptions): Decoded {
  const connection = objectAt(record, "connection");
  const type = textAt(connection, "type");
  const protocol = textAt(connection, "protocol") ?? "";
  const transport = textAt(connection, "transport");
  const ignored = ignoredConnection(type, transport, protocol);
  if (ignored !== undefined) return { ignored };
  const credentials = pairsAt(record, "credentials", "username", "password");
  const commands = pairsAt(record, "ftp.commands", "command", "arguments");
  return toObservation(
    {
      format: "dionaea",
      observedAt: at(record, "timestamp"),
      writesUtc: true,
      sensor: textAt(record, "sensor", "host"),
      sourceIp: textAt(record, "src_ip") ?? textAt(connection, "remote.address"),
      sourceMembers: ["src_ip", "connection.remote.address"],
      sourcePort: portAt(record, "src_port") ?? portAt(connection, "remote.port"),
      destinationPort: portAt(record, "dst_port", "dest_port") ?? portAt(connection, "local.port"),
      transport,
      established: isAccepted(type, transport),
      application: dionaeaApplication(protocol),
      credentials: credentials.map(([username, password]) => ({ username, password })),
      loginAttempts: credentials.length,
      commands: commands.map(([command = "", words = ""]) => `${command} ${words}`.trim()).filter(Boolean),
      labels: [`dionaea:${protocol}`, ...(type === undefined ? [] : [`dionaea-type:${type}`])],
      rdns: textAt(record, "src_hostname") ?? textAt(connection, "remote.hostname"),
      urls: textsAt(record, "download.url"),
    },
    options,
  );
}

/** What a module of this name speaks. */
export function dionaeaApplication(protocol: string): string {
  return APPLICATIONS.get(protocol.toLowerCase()) ?? protocol;
}

/** Why a connection of this type is ignored; undefined if its peer began it. */
export function ignoredConnection(
  type: string | undefined,
  transport: string | undefined,
  protocol: string,
): IgnoredReason | undefined {
  if (type === "listen") return "about-sensor";
  // A server over UDP has no connections to accept: its peers' packets are logged as if it connected.
  const isPeerOverUdp = transport === "udp" && UDP_SERVERS.has(protocol.toLowerCase());
  return type === "connect" && !isPeerOverUdp ? "own-traffic" : undefined;
}

/** Whether Dionaea accepted a connection, TLS included. A `reject` is a SYN to a closed port, and UDP has none. */
export function isAccepted(type: string | undefined, transport: string | undefined): true | undefined {
  return type === "accept" && (transport === "tcp" || transport === "tls") ? true : undefined;
}

/** Pairs as a list of objects, or as two lists in their order, of which either may be shorter. */
function pairsAt(record: Fields, path: string, first: string, second: string) {
  const value = at(record, path);
  if (Array.isArray(value)) return value.filter(isFields).map((pair) => [textOf(pair[first]), textOf(pair[second])]);
  const [firsts, seconds] = [listAt(record, `${path}.${first}`), listAt(record, `${path}.${second}`)];
  return Array.from({ length: Math.max(firsts.length, seconds.length) }, (_, index) => [
    textOf(firsts[index]),
    textOf(seconds[index]),
  ]);
}

/** FTP's arguments are a list themselves, unless the log is flat. */
const textOf = (value: unknown) => (Array.isArray(value) ? value.filter(isText).join(" ") : toText(value));
const isText = (value: unknown): value is string => typeof value === "string";
