import { toObservation } from "../draft.ts";
import { type Fields, isFields, listAt, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/**
 * Heralding's session log: one record a session, with all its attempts to log in. What T-Pot sends are the lines of its
 * authentication log: one record an attempt.
 */
export const heralding: LogFormat = {
  name: "heralding",
  description: "Heralding's session log (log_session.json)",
  json: {
    signs: "session_id, and num_auth_attempts or auth_id",
    recognizes: (record) => "session_id" in record && ("num_auth_attempts" in record || "auth_id" in record),
    decode: decodeHeralding,
  },
};

export function decodeHeralding(record: Fields, options: DecodeOptions): Decoded {
  const attempt = textAt(record, "auth_id");
  const isSession = "num_auth_attempts" in record || "auth_attempts" in record;
  const attempts = isSession ? listAt(record, "auth_attempts").filter(isFields) : [record];
  const count = Number(textAt(record, "num_auth_attempts") ?? attempts.length);
  const session = textAt(record, "session_id");
  const source = textAt(record, "source_ip", "src_ip");
  if (source === "source_ip") return { ignored: "header" };
  return toObservation(
    {
      format: "heralding",
      observedAt: record.timestamp,
      writesUtc: true,
      sensor: textAt(record, "sensor"),
      sourceIp: source,
      sourceMembers: ["source_ip", "src_ip"],
      sourcePort: portAt(record, "source_port", "src_port"),
      destinationPort: portAt(record, "destination_port", "dest_port"),
      transport: "tcp",
      established: true,
      application: textAt(record, "protocol", "proto"),
      session,
      credentials: attempts.map(({ username, password }) => ({
        username: toText(username),
        password: toText(password),
      })),
      loginAttempts: Number.isInteger(count) && count >= 0 ? count : attempts.length,
      ssh: { banner: textAt(record, "auxiliary_data.client_version") },
      // A session may be logged while it goes on and at its end.
      key: [session, attempt ?? record.timestamp, count],
    },
    options,
  );
}
