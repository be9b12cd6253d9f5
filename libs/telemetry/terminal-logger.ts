import { type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./logger.ts";

/** A logger on standard error whose lines a person can read. */
export function createTerminalLogger(name: string, level: LogLevel): Logger {
  const options = { destination: 2, sync: true, ignore: "pid,hostname,name", translateTime: "SYS:HH:MM:ss" };
  return pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime }, pretty(options));
}
