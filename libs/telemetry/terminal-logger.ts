import { type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./logger.ts";

/** A logger on standard error for people: one line per event, followed by an error's stack. */
export function createTerminalLogger(
  name: string,
  level: LogLevel,
  destination: pretty.PrettyOptions["destination"] = 2,
): Logger {
  const options: pretty.PrettyOptions = {
    ...{ destination, sync: true, singleLine: true, translateTime: "SYS:HH:MM:ss" },
    ignore: "pid,hostname,name,answer",
    messageFormat: (log, messageKey) => String(log.answer ?? log[messageKey]),
  };
  const formatters = { log: foldAnswer };
  return pino({ name, level, formatters, timestamp: pino.stdTimeFunctions.isoTime }, pretty(options));
}

/** Folds the many fields of an answered request into a sentence. Other lines stay as they are. */
function foldAnswer(fields: Record<string, unknown>): Record<string, unknown> {
  const { method, path, status, ms, workspace, client, requestId } = fields;
  if (method === undefined || ms === undefined) return fields;
  const from = client === undefined ? "" : ` from ${client}`;
  const by = workspace === undefined ? "" : `, workspace ${workspace}`;
  return { answer: `${method} ${path}${from}: ${status} in ${ms} ms${by}, request ${requestId}` };
}
