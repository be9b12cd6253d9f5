import type { HttpDraft } from "../../draft.ts";
import { type Fields, textAt } from "../../fields.ts";
import { readHeaderFields, toHeaderFields } from "../payload.ts";

/** A request whose parts have members of their own. */
export function request(record: Fields, parts: HttpDraft, headers: unknown = undefined): { readonly http: HttpDraft } {
  const read = readHeaderFields(toHeaderFields(headers));
  return {
    http: {
      ...read,
      ...parts,
      host: parts.host ?? read.host,
      userAgent: parts.userAgent ?? read.userAgent,
      referer: parts.referer ?? read.referer,
      body: parts.body ?? textAt(record, "body"),
    },
  };
}
