import { toObservation } from "../draft.ts";
import { type Fields, objectAt, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readPayload } from "./payload.ts";

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
  const connection = objectAt(record, "attack_connection");
  const payload = textAt(connection, "payload.data_hex");
  const read = payload === undefined ? {} : readPayload(Buffer.from(payload.slice(0, 16_384), "hex"));
  return toObservation(
    {
      format: "honeytrap",
      observedAt: record.start_time ?? record["@timestamp"],
      sensor: textAt(record, "sensor", "host"),
      sourceIp: textAt(connection, "remote_ip"),
      sourceMembers: ["attack_connection.remote_ip"],
      sourcePort: portAt(connection, "remote_port"),
      destinationPort: portAt(connection, "local_port"),
      transport: textAt(connection, "protocol"),
      application: read.application,
      http: read.http,
      sshBanner: read.sshBanner,
      labels: [`honeytrap:${textAt(connection, "protocol") ?? "unknown"}`],
      urls: textsAt(record, "downloads.url"),
      metadata: {
        payload_sha512: textAt(connection, "payload.sha512_hash"),
        payload_bytes: objectAt(connection, "payload").length,
      },
    },
    options,
  );
}
