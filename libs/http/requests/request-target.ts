/**
 * Rewrites a request target so that the router can read it. Doubled slashes become one: some clients join a base URL
 * that ends in a slash that way. In a path segment that is not valid percent-encoding, `%` becomes literal text, so that
 * the operation answers with its own 400 like for any other text that is no address or id.
 */
export function normalizeRequestTarget(target: string): string {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  if (!path.includes("//") && !path.includes("%")) return target;
  // The absolute form has a doubled slash of its own.
  const joined = path.startsWith("/") ? path.replaceAll(/\/{2,}/g, "/") : path;
  const normalized = joined
    .split("/")
    .map((segment) => (isDecodable(segment) ? segment : segment.replaceAll("%", "%25")))
    .join("/");
  return end < 0 ? normalized : normalized + target.slice(end);
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** The host in the absolute form of a target, as clients send it to a proxy: `http://host/path`. */
export function authorityOf(target: string): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];
}

/** A target without its query string, for logs: some clients put secrets into the query. */
export function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}
