/**
 * A request's target as the router can read it. Slashes doubled at the start are one: some clients join a base URL that
 * ends with one that way. A part of the path whose percent-encoding is none stands for the very text that it is, so
 * that its operation refuses it in its own words, as any other text that is no address or no id.
 */
export function readableTarget(target: string): string {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const readable = path
    .replace(/^\/{2,}/, "/")
    .split("/")
    .map((part) => (isDecodable(part) ? part : part.replaceAll("%", "%25")))
    .join("/");
  return end < 0 ? readable : readable + target.slice(end);
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
