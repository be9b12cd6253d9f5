import type { Caller } from "./caller.ts";

/** Every observation is in exactly one dataset. */
export const DATASETS = ["global", "community", "personal"] as const;
export type Dataset = (typeof DATASETS)[number];

/** Rows that a query may read: those of a dataset and, for `personal`, of one workspace (else empty). */
export type Scope = { readonly dataset: Dataset; readonly workspaceId: string };

/** What operations without a scope parameter read. */
export const GLOBAL_SCOPE: Scope = { dataset: "global", workspaceId: "" };

export function isGlobal({ dataset }: Scope): boolean {
  return dataset === GLOBAL_SCOPE.dataset;
}

/** Whether these scopes are the global dataset alone. */
export function isGlobalOnly(scopes: readonly Scope[]): boolean {
  return scopes.length === 1 && scopes.every(isGlobal);
}

/** A parsed scope parameter. `supplied` is false when it was left out or empty. */
export type RequestedScopes = {
  readonly supplied: boolean;
  readonly recognized: readonly Dataset[];
  readonly unrecognized: readonly string[];
};

/** Other names for scopes. Existing clients send the hosted service's own name for its global dataset. */
const DEFAULT_SCOPE_ALIASES: Readonly<Record<string, Dataset>> = { greynoise: "global" };

/**
 * Parses a comma-separated list of scopes. White space around values and repeated values are ignored; no list or an
 * empty one means the global dataset. Operations differ in how they treat unrecognized values (SPEC, Dataset scopes).
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
 * SPEC, Dataset scopes, "Enforcement per operation"; API.md fills the cells that the specification leaves open. The
 * cell of `ip` for `personal` without a workspace never applies: such a caller lacks the entitlement, which is checked
 * first.
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

export type ScopeError = { readonly status: 400 | 403; readonly message: string };

/**
 * The scopes that a caller may read of those it requested, or the error to respond with. Only this function turns
 * `personal` into a workspace, and only into the caller's own.
 */
export function authorizeScopes(
  operation: ScopedOperation,
  requested: RequestedScopes,
  caller: Caller,
): Scope[] | ScopeError {
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
