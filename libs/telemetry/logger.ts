import { type Logger, pino } from "pino";

export type { Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which requests have a log line each: all, or all but lookups that succeed, of which only samples have one. */
export const ACCESS_LOGS = ["sampled", "all"] as const;
export type AccessLog = (typeof ACCESS_LOGS)[number];

/** A reader that has stopped reading must not fill memory: lines beyond are lost. */
const MAX_UNWRITTEN_BYTES = 16 * 1024 * 1024;

/**
 * A logger on standard error: JSON lines, for collectors. While a write is under way, further lines wait for the next
 * one, which takes them together; at exit they are written.
 */
export function createLogger(name: string, level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: MAX_UNWRITTEN_BYTES });
  return pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
