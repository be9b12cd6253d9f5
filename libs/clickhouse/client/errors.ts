import { ClickHouseError } from "@clickhouse/client";

/** The store cannot be used as it is: the message says why and what the user can do. */
export class StoreError extends Error {
  override name = "StoreError";
}

/** The store did not answer in time. */
export class StoreTimeoutError extends Error {
  override name = "StoreTimeoutError";
}

/** The answer broke off: what came of it must not be read as all there is. */
export class IncompleteAnswerError extends Error {
  override name = "IncompleteAnswerError";
}

/** The store's disk is nearly full: nothing may be written until there is room again. */
export class StoreFullError extends Error {
  override name = "StoreFullError";
}

const [READONLY, ACCESS_DENIED, AUTHENTICATION_FAILED] = ["164", "497", "516"];

/** For an error with which a server says that its user may not: which right is missing, and what to do. */
export function missingRight(error: unknown): StoreError | undefined {
  if (!(error instanceof ClickHouseError)) return undefined;
  const told = (message: string) => new StoreError(message, { cause: error });
  if (error.code === AUTHENTICATION_FAILED) {
    return told(
      "ClickHouse does not take this user with this password: look at CLICKHOUSE_USER and CLICKHOUSE_PASSWORD",
    );
  }
  if (error.code === READONLY) {
    return told(
      `ClickHouse's user may only read (${error.message.trim()}): set CLICKHOUSE_USER to a user who may do this`,
    );
  }
  if (error.code !== ACCESS_DENIED) return undefined;
  const grant = /the grant (.+?)[.\s]*(?:\(ACCESS_DENIED\).*)?$/s.exec(error.message)?.[1];
  const right = grant === undefined ? `a right (${error.message})` : `the right ${grant}`;
  return told(`ClickHouse's user lacks ${right}: grant it, or set CLICKHOUSE_USER to a user who has it`);
}

const NOT_ENOUGH_SPACE = "243";

/** For an error with which a server says that its disk is full: what the user can do. */
export function fullDisk(error: unknown): StoreError | undefined {
  if (!(error instanceof Error)) return undefined;
  const isFull = error instanceof ClickHouseError && error.code === NOT_ENOUGH_SPACE;
  // What the system refuses in the middle of a write has a code that other faults have, too.
  if (!isFull && !/no space left on device/i.test(error.message)) return undefined;
  const message = `ClickHouse's disk is full (${error.message.trim()}): free some space, then run this again`;
  return new StoreError(message, { cause: error });
}

/** Does a server say that it has no such database or table? */
export function isNotThere(error: unknown): boolean {
  const [unknownTable, unknownDatabase] = ["60", "81"];
  return error instanceof ClickHouseError && (error.code === unknownTable || error.code === unknownDatabase);
}

/**
 * Codes with which a server says "not now" rather than "not this": too many parts, timeouts, limits of memory, queries,
 * sessions and connections, a lost connection or a shutdown of its own, a table that is locked, read-only or being restarted
 * for the moment, a full or failing disk, no file handle left. Where such a thing lasts, an end of this process would mend
 * nothing: it waits, and says so.
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

/** How a proxy says that the server behind it does not answer. The client passes on the text, but not the status. */
const FROM_A_PROXY = /\b50[234]\b|no healthy upstream|upstream connect error|upstream request timeout/i;
const A_PROXY_DID_NOT_WAIT = /\b504\b|upstream request timeout/i;
const PROXY_TEXT_LENGTH = 500;
/** How the client says that an answer took longer than it waits. */
const CLIENT_TIMEOUT = "Timeout error.";

const TRANSIENT_KINDS = [StoreTimeoutError, IncompleteAnswerError, StoreFullError];

/** Is the same request worth sending again? Judged by codes; by words only where the client gives no code. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClickHouseError) return TRANSIENT_CODES.has(error.code);
  if (TRANSIENT_KINDS.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string") return TRANSIENT_SYSTEM_CODES.has(error.code);
  // The client's own time limits and a socket closed without an answer come without a code.
  if (error.message === CLIENT_TIMEOUT || error.message.includes("socket hang up")) return true;
  return isFromAProxy(error, FROM_A_PROXY);
}

function isFromAProxy(error: Error, text: RegExp): boolean {
  return error.constructor === Error && text.test(error.message.slice(0, PROXY_TEXT_LENGTH));
}

/** Codes with which a server says that a query is too much for it: time, memory, rows or bytes to read. */
export const OVER_LIMIT_CODES: ReadonlyMap<string, string> = new Map([
  ["158", "TOO_MANY_ROWS"],
  ["159", "TIMEOUT_EXCEEDED"],
  ["160", "TOO_SLOW"],
  ["241", "MEMORY_LIMIT_EXCEEDED"],
  ["307", "TOO_MANY_BYTES"],
  ["396", "TOO_MANY_ROWS_OR_BYTES"],
]);

/** Did a query hit one of the server's limits? The same question would again, as long as the server is as busy. */
export function isOverLimit(error: unknown): boolean {
  return error instanceof ClickHouseError && OVER_LIMIT_CODES.has(error.code);
}

/**
 * Does a server, or its user's settings, lack the memory or the time for this much at once, or whoever waits for its answer
 * the patience? Less may go through.
 */
export function isTooMuchAtOnce(error: unknown): boolean {
  if (error instanceof ClickHouseError) return TOO_MUCH_AT_ONCE_CODES.has(error.code);
  if (!(error instanceof Error) || "code" in error) return false;
  return error.message === CLIENT_TIMEOUT || isFromAProxy(error, A_PROXY_DID_NOT_WAIT);
}

const TOO_MUCH_AT_ONCE_CODES: ReadonlySet<string> = new Set(["159", "241"]);

/** Codes with which a server says that it cannot take a row for what is in it. The same row would be refused again. */
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

/**
 * What to do about a failed insert: wait for what passes by itself, look for the bad rows, or stop because nobody knows.
 */
export const FAILURE_KINDS = ["transient", "data", "unknown"] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export function failureKind(error: unknown): FailureKind {
  if (isTransient(error)) return "transient";
  return error instanceof ClickHouseError && DATA_CODES.has(error.code) ? "data" : "unknown";
}
