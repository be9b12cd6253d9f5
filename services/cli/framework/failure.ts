import { fullDisk, isTransient, missingRight, StoreError } from "@noisefloor/clickhouse/errors.ts";
import { ConfigError } from "@noisefloor/config/env.ts";
import { ListenError } from "@noisefloor/http/connections.ts";
import { TlsFilesError } from "@noisefloor/http/tls.ts";
import { ReplayError } from "@noisefloor/ingest/replay.ts";
import { StreamError } from "@noisefloor/kafka/kafkajs-connection.ts";
import { UserError } from "./command.ts";

/** Errors that the user can fix: their message is enough. All others are faults of ours and keep their stack. */
const USER_ERRORS = [UserError, ConfigError, StoreError, StreamError, TlsFilesError, ListenError];

/** What to print of the error that ended a command. */
export function formatFailure(thrown: unknown): unknown {
  const cause = thrown instanceof ReplayError ? thrown.cause : thrown;
  const error = missingRight(cause) ?? fullDisk(cause) ?? cause;
  const isUserError = USER_ERRORS.some((type) => error instanceof type) || isTransient(error);
  return isUserError && error instanceof Error ? `noisefloor: ${error.message || String(error)}` : error;
}
