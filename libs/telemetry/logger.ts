import { type Logger, pino } from "pino";

export type { Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A logger on standard error: JSON lines, for collectors. */
export function createLogger(name: string, level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: true });
  return pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
