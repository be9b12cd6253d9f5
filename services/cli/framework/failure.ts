import { fullDisk, isTransient, missingRight, StoreError } from "@noisefloor/clickhouse/errors.ts";
import { ConfigError } from "@noisefloor/config/env.ts";
import { ListenError } from "@noisefloor/http/connections.ts";
import { TlsFilesError } from "@noisefloor/http/tls.ts";
import { ReplayError } from "@noisefloor/ingest/replay.ts";
import { StreamError } from "@noisefloor/kafka/kafkajs-connection.ts";
import { UserError } from "./command.ts";

/** Errors that the user can put right are told in a sentence; all others with their stack, for they are ours. */
const TOLD_PLAINLY = [UserError, ConfigError, StoreError, StreamError, TlsFilesError, ListenError];

/** What to say of the error with which a command ended. */
export function tellFailure(thrown: unknown): unknown {
  const cause = thrown instanceof ReplayError ? thrown.cause : thrown;
  const error = missingRight(cause) ?? fullDisk(cause) ?? cause;
  const isPlain = TOLD_PLAINLY.some((kind) => error instanceof kind) || isTransient(error);
  return isPlain && error instanceof Error ? `noisefloor: ${error.message || String(error)}` : error;
}
