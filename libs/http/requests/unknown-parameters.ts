import type { FastifyReply, FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyRequest {
    /** The escaped names of query parameters that the operation does not have. */
    unknownParameters: readonly string[] | undefined;
  }
}

/**
 * A header field of our own, a List of Strings (RFC 9651): `"slugs", "day"`. RFC 9111 retired `Warning`, as hardly any
 * client read it, and its free text is harder to parse.
 */
export const UNKNOWN_PARAMETERS = "unknown-parameters";

const MAX_NAMES = 5;
const MAX_NAME_BYTES = 40;
/** In place of the names that are left out. */
const MORE = "...";

/** Names the parameters that an operation ignores, in the response and for the debug log. Values are never named. */
export function nameUnknownParameters(known: ReadonlySet<string>) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    // Without a query, as in nearly all lookups, there is nothing to compare.
    const unknown = request.url.includes("?") ? findUnknown(Object.keys(Object(request.query)), known) : [];
    if (unknown.length > 0) {
      request.unknownParameters = unknown;
      reply.header(UNKNOWN_PARAMETERS, unknown.map((name) => `"${name}"`).join(", "));
    }
    done();
  };
}

function findUnknown(names: readonly string[], known: ReadonlySet<string>): string[] {
  const unknown = names.filter((name) => !known.has(name));
  const named = unknown.slice(0, MAX_NAMES).map(escapeName);
  return unknown.length > MAX_NAMES ? [...named, MORE] : named;
}

/** Percent-encodes what could end the string or the header field, and what is not ASCII. */
function escapeName(name: string): string {
  const bytes = Buffer.from(name);
  const escaped = [...bytes.subarray(0, MAX_NAME_BYTES)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[\w.~!*()[\]-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return escaped.join("") + (bytes.length > MAX_NAME_BYTES ? MORE : "");
}
