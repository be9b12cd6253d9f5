import { z } from "zod";
import { HttpError } from "../responses/errors.ts";

/** A query string as the framework parses it: a repeated parameter is an array. */
export type RawQuery = Readonly<Record<string, string | string[] | undefined>>;

/** A query parameter: how its text is parsed, and how OpenAPI describes it. */
export type Parameter<T> = {
  readonly name: string;
  /** Other names that clients send it by. */
  readonly alsoCalled?: readonly string[];
  /** What clients send in its place that it cannot be: a 400, as the response would be about more than they ask for. */
  readonly never?: readonly string[];
  /** From its text, or undefined where it was left out, to its value. */
  readonly schema: z.ZodType<T, string | undefined>;
  /** The values it accepts, as the error message words them. */
  readonly takes: string;
  readonly description: string;
  /** Which side of the schema OpenAPI shows: the text as it is written, or the value as it is parsed. */
  readonly describedBy: "input" | "output";
  readonly example: string;
};

/** A path parameter: unlike a query parameter it is always present. */
export type PathParameter = {
  readonly schema: z.ZodType<string, string>;
  readonly description: string;
  /** The message of the 400 for a text that the schema rejects. */
  readonly errorMessage: string;
  /** Why the schema rejects a text, to follow the message; undefined when the message says all. */
  readonly reasonOf?: (text: string) => string | undefined;
  readonly example: string;
};

/** @throws HttpError 400 that names the parameter and the values it accepts. */
export function readParameter<T>(query: RawQuery, parameter: Parameter<T>): T {
  const { name, takes, alsoCalled = [], never = [] } = parameter;
  const other = never.find((one) => query[one] !== undefined);
  if (other !== undefined)
    throw new HttpError(400, `Invalid parameter: ${other} is not taken here: ${name} takes ${takes}`);
  const [sent = name, again] = [name, ...alsoCalled].filter((one) => query[one] !== undefined);
  if (again !== undefined) throw new HttpError(400, `Invalid parameter: ${name} was given more than once, as ${again}`);
  const parsed = parameter.schema.safeParse(single(query, sent));
  if (parsed.success) return parsed.data;
  throw new HttpError(400, `Invalid parameter: ${sent} takes ${takes}`);
}

/** @throws HttpError 400 with the parameter's own message. */
export function readPath(text: string, parameter: PathParameter): string {
  const parsed = parameter.schema.safeParse(text);
  if (parsed.success) return parsed.data;
  const reason = parameter.reasonOf?.(text);
  throw new HttpError(400, reason === undefined ? parameter.errorMessage : `${parameter.errorMessage} (${reason})`);
}

/** A parameter's text, undefined when it was left out. @throws HttpError 400 when it was given more than once. */
function single(query: RawQuery, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw new HttpError(400, `Invalid parameter: ${name} was given more than once`);
  return value;
}

type Described = Pick<Parameter<unknown>, "name" | "description" | "alsoCalled" | "never">;

/** A whole number from `min` to `max`, without sign or leading zeros. */
export function wholeNumber(
  about: Described & { readonly min: number; readonly max: number; readonly fallback: number },
): Parameter<number> {
  const { min, max, fallback, ...described } = about;
  return {
    ...described,
    takes: `a whole number from ${min} to ${max}`,
    schema: z
      .string()
      .regex(/^(?:0|[1-9]\d{0,8})$/)
      .transform(Number)
      .pipe(z.int().min(min).max(max))
      .default(fallback),
    describedBy: "output",
    example: String(fallback),
  };
}

/** A boolean: `true`, `false`, `1` or `0`, and whatever other spellings a client is known to send. */
export function boolean(
  about: Described & {
    readonly alsoTrue?: readonly string[];
    readonly alsoFalse?: readonly string[];
    readonly fallback?: boolean;
  },
): Parameter<boolean> {
  const { name, description, alsoTrue = [], alsoFalse = [], fallback = false } = about;
  return {
    name,
    description,
    takes: "true, false, 1 or 0",
    schema: z
      .stringbool({ truthy: ["true", "1", ...alsoTrue], falsy: ["false", "0", ...alsoFalse], case: "sensitive" })
      .default(fallback),
    describedBy: "output",
    example: "true",
  };
}

/** A text that needs no check of its own, absent when it was left out or is empty. */
export function text(about: Described & { readonly example: string }): Parameter<string | undefined> {
  const schema = z
    .string()
    .optional()
    .transform((given) => (given === "" ? undefined : given));
  return { ...about, takes: "a text", schema, describedBy: "input" };
}

/** One of some words, in exactly this spelling. */
export function choice<const Value extends string>(
  about: Described & { readonly values: readonly Value[]; readonly fallback: Value },
): Parameter<Value> {
  const { values, fallback, ...described } = about;
  const takes = values.join(" or ");
  return {
    ...described,
    takes,
    schema: z.enum(values).default(() => fallback),
    describedBy: "input",
    example: fallback,
  };
}
