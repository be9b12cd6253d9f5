import type { IncomingHttpHeaders } from "node:http";

type CredentialRequest = { readonly headers: IncomingHttpHeaders; readonly query?: unknown };

/** Where a request may show a key or token. */
const PLACES = {
  /** The header `key`. */
  key: ({ headers }: CredentialRequest) => String(headers.key ?? ""),
  /** `Authorization: Bearer`. */
  bearer: ({ headers }: CredentialRequest) => sentWith("Bearer", headers),
  /** The password of HTTP Basic, with any user or none. */
  basic: ({ headers }: CredentialRequest) => secretIn(sentWith("Basic", headers)),
  /** The secret of `Authorization: ApiKey`, which Elasticsearch's clients send with any id or none. */
  elasticsearch: ({ headers }: CredentialRequest) => secretIn(sentWith("ApiKey", headers)),
  /** `Authorization: Splunk`. */
  splunk: ({ headers }: CredentialRequest) => sentWith("Splunk", headers),
  /** The header `X-Api-Key`. */
  apiKey: ({ headers }: CredentialRequest) => String(headers["x-api-key"] ?? ""),
  /** The parameter `token`; a repeated one counts as none. */
  parameter: ({ query }: CredentialRequest) => {
    const token = typeof query === "object" && query !== null && "token" in query ? query.token : undefined;
    return typeof token === "string" ? token : "";
  },
} as const;
export type CredentialPlace = keyof typeof PLACES;

/** Reads the key or token of a request from the first of these places that has one. @returns an empty text without any. */
export function credentialOf(request: CredentialRequest, places: readonly CredentialPlace[]): string {
  for (const place of places) {
    const text = PLACES[place](request);
    if (text !== "") return text;
  }
  return "";
}

/** A request's key: the header `key`, else the token of `Authorization: Bearer`. Empty when there is none. */
export function keyOf(headers: IncomingHttpHeaders): string {
  return credentialOf({ headers }, ["key", "bearer"]);
}

/** The part after the first colon of a text in base64. */
function secretIn(encoded: string): string {
  const decoded = Buffer.from(encoded, "base64").toString();
  return decoded.slice(decoded.indexOf(":") + 1);
}

function sentWith(scheme: string, { authorization }: IncomingHttpHeaders): string {
  const [, name = "", text = ""] = /^(\S+) +(\S+) *$/.exec(authorization ?? "") ?? [];
  return name.toLowerCase() === scheme.toLowerCase() ? text : "";
}
