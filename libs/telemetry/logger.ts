import { type Logger, pino } from "pino";

export type { Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
