import { type Entry, findAddresses } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import { pagePath } from "../routing/paths.ts";

/** Mail programs and chats cut longer links. */
const MAX_FRAGMENT = 2_000;
const TOO_LONG = "too-long-for-a-link-";

/**
 * The page of a list. Its fragment has the list, so that it can be shared, and servers and their logs never see it. A
 * longer list is kept in the entry of the browser's history, which lives as long as the tab.
 */
export function listPage(entries: readonly Entry[]): { readonly path: string; readonly state?: string } {
  const list = entries.map(({ text }) => text).join(",");
  const fragment = encodeURI(list);
  if (fragment.length <= MAX_FRAGMENT) return { path: pagePath(`/addresses#${fragment}`) };
  // Each has a URL of its own, as the history tells entries apart by it.
  return { path: pagePath(`/addresses#${TOO_LONG}${Date.now().toString(36)}`), state: list };
}

/** The list of the current page; undefined if its link came without it. */
export function readList(
  { state }: Pick<History, "state">,
  { hash }: Pick<Location, "hash">,
): readonly Entry[] | undefined {
  if (typeof state === "string") return findAddresses(state);
  if (hash.startsWith(`#${TOO_LONG}`)) return undefined;
  try {
    return findAddresses(decodeURIComponent(hash.slice(1)));
  } catch {
    // Someone cut the link within a character.
    return findAddresses(hash.slice(1));
  }
}
