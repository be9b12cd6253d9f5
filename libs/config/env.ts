import { z } from "zod";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the environment, a line for each variable. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** Something that several variables have to agree on. */
export type Check<Variables> = {
  /** The variables that it looks at, the one to be changed first. It is not made when one of them is bad by itself. */
  readonly of: readonly [keyof Variables & string, ...(keyof Variables & string)[]];
  readonly message: string;
  readonly isMet: (variables: Variables) => boolean;
};

/**
 * Reads settings from environment variables: the schema's members are the variables' names. A variable that is set
 * but empty counts as not set, as compose files and shells write it.
 * @throws ConfigError that names every bad variable and every check that is not met, and says what they take, but never
 * repeats a value: it may be a secret.
 */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  env: Environment,
  checks: readonly Check<z.output<Schema>>[] = [],
): z.output<Schema> {
  const given = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, env[name] === "" ? undefined : env[name]]),
  );
  const parsed = schema.safeParse(given);
  const bad = new Set<string>(parsed.error?.issues.map((issue) => String(issue.path[0])));
  const lines = parsed.error?.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`) ?? [];
  // Parsed again without the bad ones: one mistake must not hide that others do not go together.
  const rest = schema.safeParse(Object.fromEntries(Object.entries(given).filter(([name]) => !bad.has(name))));
  for (const { of, message, isMet } of checks) {
    const isMade = rest.success && !of.some((name) => bad.has(name));
    if (isMade && !isMet(rest.data)) lines.push(`  ${of[0]}: ${message}`);
  }
  if (parsed.success && lines.length === 0) return parsed.data;
  throw new ConfigError(`the configuration is not usable:\n${lines.join("\n")}`);
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number) {
  const message = `takes a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= least && value <= most, message);
}

/** `true` or `false`. */
export function flag(fallback: boolean) {
  return trueOrFalse().default(fallback);
}

/** The same, or undefined where nothing is said. */
export function optionalFlag() {
  return trueOrFalse().optional();
}

function trueOrFalse() {
  return z.enum(["true", "false"], "takes true or false").transform((value) => value === "true");
}

/** Values separated by commas; white space around them does not count. Set, it must hold at least one, each a good one. */
export function list(takes = "takes values separated by commas", isGood: (value: string) => boolean = () => true) {
  return z
    .string()
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .refine((values) => values.length > 0 && values.every(isGood), takes)
    .default([]);
}
