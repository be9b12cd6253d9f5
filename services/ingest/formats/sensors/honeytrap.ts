import { acceptedOver, toObservation } from "../draft.ts";
import { at, type Fields, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { MAX_PAYLOAD_LENGTH, readPayload } from "./payload.ts";

/** Honeytrap's attacker log: one record a connection, with its first bytes. */
export const honeytrap: LogFormat = {
  name: "honeytrap",
  description: "Honeytrap's JSON log (attackers.json)",
  json: {
    signs: "attack_connection.remote_ip",
    recognizes: (record) => textAt(record, "attack_connection.remote_ip") !== undefined,
    decode: decodeHoneytrap,
  },
};

export function decodeHoneytrap(record: Fields, options: DecodeOptions): Decoded {
  const payload = textAt(record, "attack_connection.payload.data_hex");
  const transport = textAt(record, "attack_connection.protocol");
  const read = payload === undefined ? {} : readPayload(Buffer.from(payload.slice(0, MAX_PAYLOAD_LENGTH), "hex"));
  return toObservation(
    {
      format: "honeytrap",
      observedAt: record.start_time ?? record["@timestamp"],
      sensor: textAt(record, "sensor", "host"),
      sourceIp: textAt(record, "attack_connection.remote_ip"),
      sourceMembers: ["attack_connection.remote_ip"],
      sourcePort: portAt(record, "attack_connection.remote_port"),
      destinationPort: portAt(record, "attack_connection.local_port"),
      transport,
      established: acceptedOver(transport),
      application: read.application,
      http: read.http,
      ssh: read.ssh,
      labels: [`honeytrap:${transport ?? "unknown"}`],
      urls: textsAt(record, "downloads.url"),
      metadata: {
        payload_sha512: textAt(record, "attack_connection.payload.sha512_hash"),
        payload_bytes: at(record, "attack_connection.payload.length"),
      },
    },
    options,
  );
}
