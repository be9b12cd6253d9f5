import type { Draft } from "../../draft.ts";

/** A Redis command with its arguments; `AUTH` is an attempt to log in. */
export function readRedisCommand(command: string): Pick<Draft, "commands" | "credentials" | "loginAttempts"> {
  const [, username, password] = /^auth\s+(?:(\S+)\s+)?(\S+)\s*$/i.exec(command) ?? [];
  return password === undefined
    ? { commands: [command] }
    : { commands: [command], credentials: [{ username, password }], loginAttempts: 1 };
}
