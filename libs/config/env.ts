import { z } from "zod";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of a configuration file, as texts like those of the environment. */
export type ConfigFile = { readonly path: string; readonly values: Environment };

/** Lists every error in the environment, one line per variable. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** A condition over several variables. */
export type Check<Variables> = {
  /** The variables it reads, the one to report first. Skipped when one of them is invalid by itself. */
  readonly of: readonly [keyof Variables & string, ...(keyof Variables & string)[]];
  readonly message: string;
  readonly isMet: (variables: Variables) => boolean;
};

/**
 * Reads settings from environment variables, which are the schema's members, and from a file those that are not set.
 * An empty variable counts as not set, as compose files and shells write it.
 * @throws ConfigError that lists every invalid variable and failed check. It never quotes a value, which may be a
 * secret.
 */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  env: Environment,
  checks: readonly Check<z.output<Schema>>[] = [],
  file?: ConfigFile,
): z.output<Schema> {
  const given = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, env[name] || file?.values[name] || undefined]),
  );
  const origin = (name = "") => (env[name] || !file?.values[name] ? "" : ` (${file.path})`);
  const parsed = schema.safeParse(given);
  const invalid = new Set<string>(parsed.error?.issues.map((issue) => String(issue.path[0])));
  const lines =
    parsed.error?.issues.map(
      (issue) => `  ${issue.path.join(".")}${origin(String(issue.path[0]))}: ${issue.message}`,
    ) ?? [];
  // Parse again without the invalid variables, so that one mistake does not hide failed checks of the others.
  const rest = schema.safeParse(Object.fromEntries(Object.entries(given).filter(([name]) => !invalid.has(name))));
  for (const { of, message, isMet } of checks) {
    const canCheck = rest.success && !of.some((name) => invalid.has(name));
    if (canCheck && !isMet(rest.data)) lines.push(`  ${of[0]}${origin(of[0])}: ${message}`);
  }
  if (parsed.success && lines.length === 0) return parsed.data;
  throw new ConfigError(`invalid configuration:\n${lines.join("\n")}`);
}

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number) {
  const message = `takes a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** `true` or `false`. */
export function flag(fallback: boolean) {
  return trueOrFalse().default(fallback);
}

/** `true` or `false`, or undefined when not set. */
export function optionalFlag() {
  return trueOrFalse().optional();
}

function trueOrFalse() {
  return z.enum(["true", "false"], "takes true or false").transform((value) => value === "true");
}

/** Comma-separated values, trimmed. When set, there must be at least one value, and all must be valid. */
export function list(message = "takes values separated by commas", isValid: (value: string) => boolean = () => true) {
  return z
    .string()
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .refine((values) => values.length > 0 && values.every(isValid), message)
    .default([]);
}
