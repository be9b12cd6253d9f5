import {
  explainFullDisk,
  explainMissingRight,
  explainNoAnswer,
  isTransient,
  StoreError,
} from "@noisefloor/clickhouse/client/errors.ts";
import { ConfigError } from "@noisefloor/config/env.ts";
import { ListenError } from "@noisefloor/http/server/listen.ts";
import { TlsFilesError } from "@noisefloor/http/server/tls.ts";
import { ReplayError } from "@noisefloor/ingest/sources/file/source.ts";
import { TagRulesError } from "@noisefloor/ingest/tagging/open-tagger.ts";
import { KafkaError } from "@noisefloor/kafka/port/errors.ts";
import { UserError } from "./command.ts";

/** Errors that the user can fix: their message is enough. All others are faults of ours and keep their stack. */
const USER_ERRORS = [UserError, ConfigError, StoreError, KafkaError, TlsFilesError, ListenError, TagRulesError];

/** What to print of the error that ended a command. */
export function formatFailure(thrown: unknown): unknown {
  const cause = thrown instanceof ReplayError ? thrown.cause : thrown;
  const error = explainMissingRight(cause) ?? explainFullDisk(cause) ?? explainNoAnswer(cause) ?? cause;
  const isUserError = USER_ERRORS.some((type) => error instanceof type) || isTransient(error);
  return isUserError && error instanceof Error ? `noisefloor: ${error.message || String(error)}` : error;
}
