import { HttpError } from "@noisefloor/http/errors.ts";

/** A query string as the framework parses it: a repeated parameter is an array. */
export type RawQuery = Readonly<Record<string, string | string[] | undefined>>;

/** What a parameter takes: how to read its text (undefined when it cannot be), and the words that say so. */
export type Parameter<T> = {
  readonly name: string;
  readonly takes: string;
  readonly fallback: T;
  readonly read: (text: string) => T | undefined;
};

/** Reads one parameter, or throws a 400 that names it and says what it takes. */
export function readParameter<T>(query: RawQuery, parameter: Parameter<T>): T {
  const value = single(query, parameter.name);
  if (value === undefined) return parameter.fallback;
  const read = parameter.read(value);
  if (read === undefined) throw new HttpError(400, `Invalid parameter: ${parameter.name} takes ${parameter.takes}`);
  return read;
}

/** A parameter's text, undefined when it was left out. Throws a 400 when it was given more than once. */
export function single(query: RawQuery, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw new HttpError(400, `Invalid parameter: ${name} was given more than once`);
  return value;
}

/** A whole number from `least` to `most`, without sign or leading zeros. */
export function wholeNumber(name: string, least: number, most: number, fallback: number): Parameter<number> {
  return {
    name,
    takes: `a whole number from ${least} to ${most}`,
    fallback,
    read: (text) => {
      const value = /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

/** A boolean: `true`, `false`, `1` or `0`. */
export function boolean(name: string, fallback: boolean): Parameter<boolean> {
  return {
    name,
    takes: "true, false, 1 or 0",
    fallback,
    read: (text) => (text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : undefined),
  };
}
