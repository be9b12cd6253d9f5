import { explainFullDisk, explainMissingRight, isTransient, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { ConfigError } from "@noisefloor/config/env.ts";
import { ListenError } from "@noisefloor/http/server/listen.ts";
import { TlsFilesError } from "@noisefloor/http/server/tls.ts";
import { ReplayError } from "@noisefloor/ingest/sources/file/replay.ts";
import { KafkaError } from "@noisefloor/kafka/errors.ts";
import { UserError } from "./commands/command.ts";

/** Errors that the user can put right are told in a sentence; all others with their stack, for they are ours. */
const TOLD_PLAINLY = [UserError, ConfigError, StoreError, KafkaError, TlsFilesError, ListenError];

/** What to say of the error with which a command ended. */
export function tellFailure(thrown: unknown): unknown {
  const cause = thrown instanceof ReplayError ? thrown.cause : thrown;
  const error = explainMissingRight(cause) ?? explainFullDisk(cause) ?? cause;
  const isPlain = TOLD_PLAINLY.some((kind) => error instanceof kind) || isTransient(error);
  return isPlain && error instanceof Error ? `noisefloor: ${error.message || String(error)}` : error;
}
