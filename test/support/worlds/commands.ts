import { Readable } from "node:stream";
import type { CommandContext } from "@noisefloor/cli/framework/command.ts";
import { readSettings } from "@noisefloor/config/settings.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { urlsOf } from "./databases.ts";
import { silent } from "./http.ts";
import type { World } from "./world.ts";

/** The context of a command that runs over a world, and the lines that it has printed. */
export type RunCommand = CommandContext & { readonly lines: string[] };

export function commandOver(
  { connection }: Pick<World, "connection">,
  kafka?: KafkaSettings,
  signal: AbortSignal = new AbortController().signal,
): RunCommand {
  const settings = readSettings({
    LOG_LEVEL: "silent",
    CLICKHOUSE_URL: urlsOf(connection),
    CLICKHOUSE_USER: connection.username,
    CLICKHOUSE_PASSWORD: connection.password,
    CLICKHOUSE_DATABASE: connection.database,
    ...(connection.cluster !== undefined && { CLICKHOUSE_CLUSTER: connection.cluster }),
    ...(kafka === undefined
      ? {}
      : {
          KAFKA_BROKERS: kafka.connection.brokers.join(","),
          KAFKA_TOPIC: kafka.topic,
          KAFKA_GROUP_ID: kafka.groupId,
          ...(kafka.instanceId !== undefined && { KAFKA_INSTANCE_ID: kafka.instanceId }),
        }),
  });
  const lines: string[] = [];
  const print = (line = "") => void lines.push(line);
  return { settings, log: silent, signal, lines, print, stdin: Readable.from([]), isTerminal: false, ask: undefined };
}
