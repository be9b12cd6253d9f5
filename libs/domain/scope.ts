/** Where an observation belongs. Every observation is in exactly one dataset. */
export const DATASETS = ["global", "community", "personal"] as const;
export type Dataset = (typeof DATASETS)[number];

/** The rows a question may touch: a dataset, and for `personal` the one workspace whose data it is (else empty). */
export type DataRoom = { readonly dataset: Dataset; readonly workspaceId: string };

/** What a caller wrote in a scope parameter. `supplied` is false when it was left out or empty. */
export type RequestedScopes = {
  readonly supplied: boolean;
  readonly recognized: readonly Dataset[];
  readonly unrecognized: readonly string[];
};

/** Other names for scopes. Existing clients send the hosted service's own name for its global dataset. */
export const DEFAULT_SCOPE_ALIASES: Readonly<Record<string, Dataset>> = { greynoise: "global" };

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

/** The rooms behind scopes that need no workspace. `personal` is not among them: it is nobody's without one. */
export function sharedRooms(scopes: readonly Dataset[]): DataRoom[] {
  return scopes.filter((dataset) => dataset !== "personal").map((dataset) => ({ dataset, workspaceId: "" }));
}
