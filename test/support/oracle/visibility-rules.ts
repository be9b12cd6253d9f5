import type { Seen } from "./oracle.ts";

/** A caller, as a test has created it. */
export type Asker = {
  readonly name: string;
  /** The value of the header `key`; undefined sends no such header. */
  readonly key: string | undefined;
  /** False for a key that does not exist. */
  readonly isKnown: boolean;
  readonly workspaceId?: string;
  readonly isEntitled: boolean;
  /** The days that tag activity and timeline reach back for it. */
  readonly reach: number;
};

/** The visible scopes, or the status of the error response. */
export type Visibility =
  | { readonly status: 400 | 403 }
  | { readonly sees: (one: Seen) => boolean; readonly namesNothing: boolean };

/**
 * The specification's table "Enforcement per operation", written a second time: who may see which observations with
 * which `workspace_labels`.
 */
export function visibilityOf(
  operation: "ip" | "timeline" | "tag-activity",
  labels: string | undefined,
  asker: Asker,
): Visibility {
  const words = (labels ?? "").split(",").map((word) => word.replace(/^\s+|\s+$/g, ""));
  if (words.length === 1 && words[0] === "") return { sees: isGlobal, namesNothing: false };
  const means = (...names: string[]) => words.some((word) => names.includes(word));
  const namesGlobal = means("global", "greynoise");
  const namesCommunity = means("community");
  const namesPersonal = means("personal");
  const isStrange = words.some((word) => !["global", "greynoise", "community", "personal"].includes(word));

  if (isStrange && operation !== "ip") return { status: 400 };
  if (!asker.isEntitled && operation !== "timeline") return { status: 403 };
  if (namesPersonal && asker.workspaceId === undefined) return { status: operation === "timeline" ? 400 : 403 };
  return {
    namesNothing: !namesGlobal && !namesCommunity && !namesPersonal,
    sees: (one) => {
      if (one.dataset === "personal") return namesPersonal && one.workspaceId === asker.workspaceId;
      return one.dataset === "community" ? namesCommunity : namesGlobal;
    },
  };
}

/** Whether operations without a choice of scopes read it. */
export function isGlobal(one: Seen): boolean {
  return one.dataset === "global";
}
