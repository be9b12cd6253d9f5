import { toObservation } from "../draft.ts";
import { type Fields, isFields, listAt, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** Heralding's session log: one record a session, with all its attempts to log in. */
export const heralding: LogFormat = {
  name: "heralding",
  description: "Heralding's session log (log_session.json)",
  json: {
    signs: "num_auth_attempts and session_id",
    recognizes: (record) => "num_auth_attempts" in record && "session_id" in record,
    decode: decodeHeralding,
  },
};

export function decodeHeralding(record: Fields, options: DecodeOptions): Decoded {
  const attempts = listAt(record, "auth_attempts").filter(isFields);
  const count = Number(textAt(record, "num_auth_attempts") ?? attempts.length);
  const session = textAt(record, "session_id");
  return toObservation(
    {
      format: "heralding",
      observedAt: record.timestamp,
      sensor: textAt(record, "sensor"),
      sourceIp: textAt(record, "source_ip", "src_ip"),
      sourceMembers: ["source_ip", "src_ip"],
      sourcePort: portAt(record, "source_port", "src_port"),
      destinationPort: portAt(record, "destination_port", "dest_port"),
      transport: "tcp",
      application: textAt(record, "protocol", "proto"),
      session,
      credentials: attempts.map(({ username, password }) => ({
        username: toText(username),
        password: toText(password),
      })),
      loginAttempts: Number.isInteger(count) && count >= 0 ? count : attempts.length,
      sshBanner: textAt(record, "auxiliary_data.client_version"),
      // A session may be logged while it goes on and at its end.
      key: [session, record.timestamp, count],
    },
    options,
  );
}
