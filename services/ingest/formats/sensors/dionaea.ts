import { toObservation } from "../draft.ts";
import { at, type Fields, listAt, objectAt, portAt, textAt, textsAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

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
  if (type === "listen") return { ignored: "about-sensor" };
  if (type === "connect") return { ignored: "own-traffic" };
  const protocol = textAt(connection, "protocol") ?? "";
  const commands = textsAt(record, "ftp.commands.command");
  const words = textsAt(record, "ftp.commands.arguments");
  return toObservation(
    {
      format: "dionaea",
      observedAt: at(record, "timestamp"),
      sensor: textAt(record, "sensor", "host"),
      sourceIp: textAt(record, "src_ip") ?? textAt(connection, "remote.address"),
      sourceMembers: ["src_ip", "connection.remote.address"],
      sourcePort: portAt(record, "src_port") ?? portAt(connection, "remote.port"),
      destinationPort: portAt(record, "dst_port", "dest_port") ?? portAt(connection, "local.port"),
      transport: textAt(connection, "transport"),
      application: APPLICATIONS.get(protocol.toLowerCase()) ?? protocol,
      credentials: credentialsOf(record),
      loginAttempts: credentialsOf(record).length,
      commands: commands.map((command, index) => [command, words[index] ?? ""].join(" ").trim()),
      labels: [`dionaea:${protocol}`, ...(type === undefined ? [] : [`dionaea-type:${type}`])],
      rdns: textAt(record, "src_hostname") ?? textAt(connection, "remote.hostname"),
      urls: textsAt(record, "download.url"),
    },
    options,
  );
}

/** Lists of names and of passwords, or a list of pairs. */
function credentialsOf(record: Fields) {
  const names = listAt(record, "credentials.username");
  const passwords = listAt(record, "credentials.password");
  return names.map((name, index) => ({ username: toText(name), password: toText(passwords[index]) }));
}
