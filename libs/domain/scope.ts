import type { Caller } from "./caller.ts";

/** Where an observation belongs. Every observation is in exactly one dataset. */
export const DATASETS = ["global", "community", "personal"] as const;
export type Dataset = (typeof DATASETS)[number];

/** The rows a question may touch: a dataset, and for `personal` the one workspace whose data it is (else empty). */
export type Scope = { readonly dataset: Dataset; readonly workspaceId: string };

/** The global dataset: what operations without scopes answer from. */
export const SHARED_GLOBAL: Scope = { dataset: "global", workspaceId: "" };

/** What a caller wrote in a scope parameter. `supplied` is false when it was left out or empty. */
export type RequestedScopes = {
  readonly supplied: boolean;
  readonly recognized: readonly Dataset[];
  readonly unrecognized: readonly string[];
};

/** Other names for scopes. Existing clients send the hosted service's own name for its global dataset. */
const DEFAULT_SCOPE_ALIASES: Readonly<Record<string, Dataset>> = { greynoise: "global" };

/**
 * Reads a comma-separated scope list. White space around a value and repeated values are fine; omitted or empty means
 * the global dataset only. What an unrecognized value leads to differs per operation (SPEC, Dataset scopes).
 */
export function parseScopes(
  text: string | undefined,
  aliases: Readonly<Record<string, Dataset>> = DEFAULT_SCOPE_ALIASES,
): RequestedScopes {
  if (text === undefined || text.trim() === "") return { supplied: false, recognized: ["global"], unrecognized: [] };
  const recognized = new Set<Dataset>();
  const unrecognized = new Set<string>();
  for (const value of text.split(",").map((part) => part.trim())) {
    const dataset =
      DATASETS.find((name) => name === value) ?? (Object.hasOwn(aliases, value) ? aliases[value] : undefined);
    if (dataset === undefined) unrecognized.add(value);
    else recognized.add(dataset);
  }
  return { supplied: true, recognized: [...recognized], unrecognized: [...unrecognized] };
}

/** The operations that take scopes. */
export type ScopedOperation = "ip" | "timeline" | "tag-activity";

/**
 * SPEC, Dataset scopes, "Enforcement per operation": what each does with a scope list that asks for too much. Where the
 * specification leaves a cell open, API.md fills it; `ip` has no cell of its own for `personal` without a workspace,
 * because a caller without one is not entitled to any value there.
 */
const ENFORCEMENT = {
  //               an unrecognized value    personal without a workspace       without the entitlement
  ip: { unrecognized: "empty", personalWithoutWorkspace: 403, unentitled: "any value" },
  timeline: { unrecognized: 400, personalWithoutWorkspace: 400, unentitled: "not enforced" },
  "tag-activity": { unrecognized: 400, personalWithoutWorkspace: 403, unentitled: "recognized values" },
} as const satisfies Record<
  ScopedOperation,
  {
    unrecognized: 400 | "empty";
    personalWithoutWorkspace: 400 | 403;
    unentitled: "any value" | "recognized values" | "not enforced";
  }
>;

export type ScopeRefusal = { readonly status: 400 | 403; readonly message: string };

/**
 * The scopes of data that a caller's scope list opens, or why it is refused. This is the one place where `personal`
 * becomes a workspace, and it can only become the caller's own.
 */
export function openScopes(
  operation: ScopedOperation,
  requested: RequestedScopes,
  caller: Caller,
): Scope[] | ScopeRefusal {
  const rule = ENFORCEMENT[operation];
  if (rule.unrecognized === 400 && requested.unrecognized.length > 0) {
    return {
      status: 400,
      message: "Invalid parameter: workspace_labels takes global, community and personal, separated by commas",
    };
  }
  const isEntitled = caller.entitlements.has("community_dataset");
  if (requested.supplied && rule.unentitled !== "not enforced" && !isEntitled) {
    return { status: 403, message: "workspace_labels requires the Community Dataset entitlement" };
  }
  const scopes: Scope[] = [];
  for (const dataset of requested.recognized) {
    if (dataset !== "personal") scopes.push({ dataset, workspaceId: "" });
    else if (caller.workspaceId !== undefined) scopes.push({ dataset, workspaceId: caller.workspaceId });
    else {
      return {
        status: rule.personalWithoutWorkspace,
        message: "The personal dataset requires an authenticated workspace",
      };
    }
  }
  return scopes;
}
