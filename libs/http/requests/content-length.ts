import type { IncomingHttpHeaders } from "node:http";

/** The bytes that a request says its body has; 0 when it does not say, or says no number. */
export function contentLength({ headers }: { readonly headers: IncomingHttpHeaders }): number {
  return Number(headers["content-length"] ?? 0) || 0;
}
