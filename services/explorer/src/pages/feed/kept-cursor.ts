import { BASE } from "../../routing/paths.ts";

/** What a feed listed at some time, by which its page counts what has changed since. */
export type KeptCursor = {
  readonly cursor: string;
  /** RFC 3339. */
  readonly at: string;
  readonly count: number;
};

const nameOf = (feedId: string) => `noisefloor-feed${BASE}-${feedId}`;

/** The cursor that this browser keeps of a feed; undefined without one, and where the browser forbids storage. */
export function readCursor(feedId: string): KeptCursor | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(nameOf(feedId)) ?? "null");
    return isCursor(kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

export function keepCursor(feedId: string, cursor: KeptCursor): void {
  try {
    localStorage.setItem(nameOf(feedId), JSON.stringify(cursor));
  } catch {
    // The same as in readCursor.
  }
}

function isCursor(kept: unknown): kept is KeptCursor {
  if (typeof kept !== "object" || kept === null) return false;
  if (!("cursor" in kept && "at" in kept && "count" in kept)) return false;
  return typeof kept.cursor === "string" && typeof kept.at === "string" && typeof kept.count === "number";
}
