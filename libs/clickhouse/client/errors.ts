import { ClickHouseError } from "@clickhouse/client";

/** The store cannot be used as it is; the message says why and what the user can do. */
export class StoreError extends Error {
  override name = "StoreError";
}

/** The store did not answer in time. */
export class StoreTimeoutError extends Error {
  override name = "StoreTimeoutError";
}

/** The answer was cut off: the part that arrived must not be read as the whole. */
export class IncompleteResponseError extends Error {
  override name = "IncompleteResponseError";
}

/** The store's disk is nearly full: nothing may be written until space is free again. */
export class StoreFullError extends Error {
  override name = "StoreFullError";
}

/** This machine's clock is too far from another's that it has to agree with. */
export class ClockError extends Error {
  override name = "ClockError";
}

const [READONLY, ACCESS_DENIED, AUTHENTICATION_FAILED] = ["164", "497", "516"];
const [UNKNOWN_TABLE, UNKNOWN_DATABASE] = ["60", "81"];
const CODES_ABOUT_ACCESS: ReadonlySet<string> = new Set([
  READONLY,
  ACCESS_DENIED,
  AUTHENTICATION_FAILED,
  UNKNOWN_TABLE,
  UNKNOWN_DATABASE,
]);

/** For an error about access rights: which right the user lacks, and what to do. Undefined for other errors. */
export function explainMissingRight(error: unknown): StoreError | undefined {
  if (!(error instanceof ClickHouseError)) return undefined;
  const explained = (message: string) => new StoreError(message, { cause: error });
  if (error.code === AUTHENTICATION_FAILED) {
    return explained("ClickHouse rejects this user or password: check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD");
  }
  if (error.code === READONLY) {
    return explained(
      `ClickHouse's user may only read (${error.message.trim()}): set CLICKHOUSE_USER to a user who may do this`,
    );
  }
  if (error.code !== ACCESS_DENIED) return undefined;
  const grant = /the grant (.+?)[.\s]*(?:\(ACCESS_DENIED\).*)?$/s.exec(error.message)?.[1];
  const right = grant === undefined ? `a right (${error.message})` : `the right ${grant}`;
  return explained(`ClickHouse's user lacks ${right}: grant it, or set CLICKHOUSE_USER to a user who has it`);
}

const NOT_ENOUGH_SPACE = "243";

/** For an error about a full disk: what the user can do. Undefined for other errors. */
export function explainFullDisk(error: unknown): StoreError | undefined {
  if (!(error instanceof Error)) return undefined;
  const isFull = error instanceof ClickHouseError && error.code === NOT_ENOUGH_SPACE;
  // When the system rejects a write half-way, the server's code is one that other faults have, too.
  if (!isFull && !/no space left on device/i.test(error.message)) return undefined;
  const message = "ClickHouse's disk is full (the one that holds DATA_DIR, unless CLICKHOUSE_URL is set)";
  return new StoreError(`${message}: free space, or lower RETENTION_DAYS`, { cause: error });
}

const WITH_SQL = /in scope|while processing|select/i;

/**
 * An error of a query whose values are a caller's, for logs: the server quotes them with the SQL. Where its message can
 * have no SQL, as it says what is exhausted, missing or forbidden, it stays.
 * @param name of the query.
 */
export function withoutValues(error: unknown, name: string): unknown {
  if (!(error instanceof ClickHouseError)) return error;
  const { code, type = "UNKNOWN" } = error;
  const isOfServer = code === READ_AFTER_END && FROM_SERVER.test(error.message);
  const isOfState = TRANSIENT_CODES.has(code) || OVER_LIMIT_CODES.has(code) || isOfServer;
  if (CODES_ABOUT_ACCESS.has(code) || (isOfState && !WITH_SQL.test(error.message))) return error;
  return new ClickHouseError({ message: `the query ${name} failed: code ${code}, ${type}`, code, type });
}

/** Whether a server says that it has no such database or table. */
export function isUnknownTable(error: unknown): boolean {
  return error instanceof ClickHouseError && (error.code === UNKNOWN_TABLE || error.code === UNKNOWN_DATABASE);
}

/**
 * Codes of errors that pass by themselves: too many parts, timeouts, limits of memory, queries, sessions and
 * connections, a lost connection, a server that shuts down, a table that is locked, read-only or restarting, a full or
 * failing disk, no file handle left. If one lasts, a restart of our process would not help: callers retry and say so.
 */
export const TRANSIENT_CODES: ReadonlyMap<string, string> = new Map([
  ["74", "CANNOT_READ_FROM_FILE_DESCRIPTOR"],
  ["75", "CANNOT_WRITE_TO_FILE_DESCRIPTOR"],
  ["76", "CANNOT_OPEN_FILE"],
  ["95", "CANNOT_READ_FROM_SOCKET"],
  ["96", "CANNOT_WRITE_TO_SOCKET"],
  ["159", "TIMEOUT_EXCEEDED"],
  ["173", "CANNOT_ALLOCATE_MEMORY"],
  ["198", "DNS_ERROR"],
  ["201", "QUOTA_EXCEEDED"],
  ["202", "TOO_MANY_SIMULTANEOUS_QUERIES"],
  ["203", "NO_FREE_CONNECTION"],
  ["209", "SOCKET_TIMEOUT"],
  ["210", "NETWORK_ERROR"],
  ["225", "NO_ZOOKEEPER"],
  ["236", "ABORTED"],
  ["241", "MEMORY_LIMIT_EXCEEDED"],
  ["242", "TABLE_IS_READ_ONLY"],
  ["243", "NOT_ENOUGH_SPACE"],
  ["252", "TOO_MANY_PARTS"],
  ["279", "ALL_CONNECTION_TRIES_FAILED"],
  ["285", "TOO_FEW_LIVE_REPLICAS"],
  ["286", "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE"],
  ["319", "UNKNOWN_STATUS_OF_INSERT"],
  ["364", "RECEIVED_ERROR_TOO_MANY_REQUESTS"],
  ["394", "QUERY_WAS_CANCELLED"],
  ["425", "SYSTEM_ERROR"],
  ["439", "CANNOT_SCHEDULE_TASK"],
  ["473", "DEADLOCK_AVOIDED"],
  ["499", "S3_ERROR"],
  ["500", "AZURE_BLOB_STORAGE_ERROR"],
  ["574", "DISTRIBUTED_TOO_MANY_PENDING_BYTES"],
  ["700", "USER_SESSION_LIMIT_EXCEEDED"],
  ["733", "TABLE_IS_BEING_RESTARTED"],
  ["735", "QUERY_WAS_CANCELLED_BY_CLIENT"],
  ["745", "SERVER_OVERLOADED"],
  ["749", "TCP_CONNECTION_LIMIT_REACHED"],
  ["762", "HTTP_CONNECTION_LIMIT_REACHED"],
  ["776", "RESOURCE_LIMIT_EXCEEDED"],
  ["777", "MEMORY_RESERVATION_KILLED"],
  ["999", "KEEPER_EXCEPTION"],
]);

/** Codes of the system's errors for a server that is away or went away in the middle of an answer. */
const TRANSIENT_SYSTEM_CODES: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "EMFILE",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/** What a proxy answers when the server behind it does not. The client passes on the text, but not the status. */
const FROM_PROXY = /\b50[234]\b|no healthy upstream|upstream connect error|upstream request timeout/i;
const PROXY_TIMEOUT = /\b504\b|upstream request timeout/i;
const PROXY_TEXT_LENGTH = 500;
/** The client's message when an answer takes longer than the request timeout. */
const CLIENT_TIMEOUT = "Timeout error.";

const TRANSIENT_KINDS = [StoreTimeoutError, IncompleteResponseError, StoreFullError, ClockError];

/**
 * What a server of a cluster says that lost another one half-way: ATTEMPT_TO_READ_AFTER_EOF, which is
 * also the code of data that end too early.
 */
const READ_AFTER_END = "32";
const FROM_SERVER = /while receiving packet from/;

/**
 * Whether to send the same request again. Codes decide; the message only where the client gives no code, or one that
 * means several things. A message may quote what a sender sent.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClickHouseError) {
    return TRANSIENT_CODES.has(error.code) || (error.code === READ_AFTER_END && FROM_SERVER.test(error.message));
  }
  if (TRANSIENT_KINDS.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string") return TRANSIENT_SYSTEM_CODES.has(error.code);
  // The client's own time limits and a socket closed without an answer come without a code.
  if (error.message === CLIENT_TIMEOUT || error.message.includes("socket hang up")) return true;
  return isFromProxy(error, FROM_PROXY);
}

const OUR_OWN_SYSTEM_CODES: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EMFILE"]);

/** Whether a request found no server, or lost the connection to it. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ClickHouseError) return false;
  if (!("code" in error) || typeof error.code !== "string") return error.message.includes("socket hang up");
  return TRANSIENT_SYSTEM_CODES.has(error.code) && !OUR_OWN_SYSTEM_CODES.has(error.code);
}

/** For an error that only says that no answer came: what the user can do. Undefined for other errors. */
export function explainNoAnswer(error: unknown): StoreError | undefined {
  if (!(error instanceof Error) || error instanceof ClickHouseError) return undefined;
  const explained = (what: string) =>
    new StoreError(`ClickHouse ${what}: "noisefloor status" says how it is; run the command again when it answers`, {
      cause: error,
    });
  if (error.message === CLIENT_TIMEOUT || error instanceof StoreTimeoutError) {
    return explained("did not answer in time, so it is overloaded or hangs");
  }
  if (error.message.includes("socket hang up"))
    return explained("closed the connection, so it has stopped or restarts");
  return undefined;
}

function isFromProxy(error: Error, text: RegExp): boolean {
  return error.constructor === Error && text.test(error.message.slice(0, PROXY_TEXT_LENGTH));
}

/** Codes of a query that exceeds a limit of the server: time, memory, rows or bytes to read. */
export const OVER_LIMIT_CODES: ReadonlyMap<string, string> = new Map([
  ["158", "TOO_MANY_ROWS"],
  ["159", "TIMEOUT_EXCEEDED"],
  ["160", "TOO_SLOW"],
  ["241", "MEMORY_LIMIT_EXCEEDED"],
  ["307", "TOO_MANY_BYTES"],
  ["396", "TOO_MANY_ROWS_OR_BYTES"],
]);

/** Whether a query exceeded a limit of the server. The same query would again, as long as the server is as busy. */
export function isOverLimit(error: unknown): boolean {
  return error instanceof ClickHouseError && OVER_LIMIT_CODES.has(error.code);
}

/**
 * Whether the request was too much for the server's memory or for the time that the server, its user's settings, the
 * client or a proxy allow: a smaller one may succeed.
 */
export function isTooMuchAtOnce(error: unknown): boolean {
  if (error instanceof ClickHouseError) return TOO_MUCH_AT_ONCE_CODES.has(error.code);
  if (!(error instanceof Error) || "code" in error) return false;
  return error.message === CLIENT_TIMEOUT || isFromProxy(error, PROXY_TIMEOUT);
}

/** Whether a query's answer, or what it needs in between, takes more memory than it may: a question in parts may not. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ClickHouseError && ["241", "396"].includes(error.code);
}

/** Whether a query would have read or answered with more than it set as its own limit. */
export function isRefused(error: unknown): boolean {
  return error instanceof ClickHouseError && ["158", "396"].includes(error.code);
}

const TOO_MUCH_AT_ONCE_CODES: ReadonlySet<string> = new Set(["159", "241"]);

/** Codes of a row that the server rejects for its content. It would reject the same row again. */
export const DATA_CODES: ReadonlyMap<string, string> = new Map([
  ["6", "CANNOT_PARSE_TEXT"],
  ["25", "CANNOT_PARSE_ESCAPE_SEQUENCE"],
  ["26", "CANNOT_PARSE_QUOTED_STRING"],
  ["27", "CANNOT_PARSE_INPUT_ASSERTION_FAILED"],
  ["33", "CANNOT_READ_ALL_DATA"],
  ["38", "CANNOT_PARSE_DATE"],
  ["41", "CANNOT_PARSE_DATETIME"],
  ["53", "TYPE_MISMATCH"],
  ["69", "ARGUMENT_OUT_OF_BOUND"],
  ["72", "CANNOT_PARSE_NUMBER"],
  ["117", "INCORRECT_DATA"],
  ["130", "CANNOT_READ_ARRAY_FROM_TEXT"],
  ["131", "TOO_LARGE_STRING_SIZE"],
  ["306", "TOO_DEEP_RECURSION"],
  ["321", "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE"],
  ["349", "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN"],
  ["376", "CANNOT_PARSE_UUID"],
  ["469", "VIOLATED_CONSTRAINT"],
  ["675", "CANNOT_PARSE_IPV4"],
]);

/** A row that cannot even be sent, for its content. */
export class RowDataError extends Error {
  override readonly name = "RowDataError";
}

/**
 * What a failed insert calls for: `transient` a retry, `data` a search for the bad rows, `unknown` a stop.
 */
export const FAILURE_KINDS = ["transient", "data", "unknown"] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export function failureKind(error: unknown): FailureKind {
  if (isTransient(error)) return "transient";
  if (error instanceof RowDataError) return "data";
  return error instanceof ClickHouseError && DATA_CODES.has(error.code) ? "data" : "unknown";
}
