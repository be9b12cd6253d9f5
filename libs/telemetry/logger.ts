import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";

export type { Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A logger on standard error: lines a person can read on a terminal, JSON lines for collectors everywhere else. */
export function createLogger(name: string, level: LogLevel): Logger {
  const destination: DestinationStream = process.stderr.isTTY
    ? pretty({ destination: 2, sync: true, ignore: "pid,hostname,name", translateTime: "SYS:HH:MM:ss" })
    : pino.destination({ dest: 2, sync: true });
  return pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
