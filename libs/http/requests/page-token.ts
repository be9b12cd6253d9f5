import { createHash } from "node:crypto";
import { z } from "zod";
import { HttpError } from "../responses/errors.ts";
import { type Parameter, type RawQuery, readParameter } from "./parameters.ts";

/** A request that a token continues: a digest of what decides on its list, and the time in ms since 1970 UTC. */
export type ContinuedRequest = { readonly digest: string; readonly now: number };

export type PageToken<Position> = {
  readonly parameter: Parameter<unknown>;
  /** The token of the page that begins at, or after, a position. */
  format(position: Position, request?: ContinuedRequest): string;
  /** Undefined where the parameter was left out or is empty. @throws HttpError 400 that names the parameter. */
  read(query: RawQuery, request?: ContinuedRequest): Position | undefined;
};

export type PageTokenOptions<Position> = Pick<Parameter<unknown>, "name" | "takes" | "description" | "example"> & {
  readonly position: z.ZodType<Position>;
  /** Binds tokens to one list, and to a time: how long they hold, and what errors say of others, after the name. */
  readonly bound?: { readonly maxAgeMs: number; readonly otherList: string; readonly tooOld: string };
};

/**
 * Tokens with which pages of a list continue, as JSON in base64url. A position names the last or the next entry, so that
 * the list goes on after it whatever is stored meanwhile.
 *
 * Not for offsets, which skip or repeat entries when the list changes; nor for secrets: anyone can read and write tokens.
 */
export function pageToken<Position>(options: PageTokenOptions<Position>): PageToken<Position> {
  const { position, bound, ...about } = options;
  const token = z.strictObject({ position, digest: z.string().optional(), at: z.int().optional() });
  const schema = z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined || text === "") return undefined;
      const parsed = token.safeParse(parseJson(Buffer.from(text, "base64url").toString()));
      if (parsed.success) return parsed.data;
      context.addIssue("it is no token");
      return z.NEVER;
    });
  const parameter = { ...about, schema, describedBy: "input" } as const;
  const error = (reason: string) => new HttpError(400, `Invalid parameter: ${about.name} ${reason}`);
  return {
    parameter,
    format(position, request) {
      const content = { position, ...(request && { digest: request.digest, at: request.now }) };
      return Buffer.from(JSON.stringify(content)).toString("base64url");
    },
    read(query, request) {
      const read = readParameter(query, parameter);
      if (read === undefined || bound === undefined) return read?.position;
      if (read.digest !== request?.digest) throw error(bound.otherList);
      if (request !== undefined && (read.at ?? 0) < request.now - bound.maxAgeMs) throw error(bound.tooOld);
      return read.position;
    },
  };
}

/** A digest of the parameters that decide on a list, so that a token continues its own list only. */
export function digestOf(parameters: object): string {
  return createHash("sha256").update(JSON.stringify(parameters)).digest("base64url").slice(0, 16);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
