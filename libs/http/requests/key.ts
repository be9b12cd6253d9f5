import type { IncomingHttpHeaders } from "node:http";

/** A request's key: the header `key`, else the token of `Authorization: Bearer`. Empty when there is none. */
export function keyOf({ key, authorization }: IncomingHttpHeaders): string {
  if (key !== undefined && key !== "") return String(key);
  if (authorization === undefined) return "";
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "";
}
