import type { Bind } from "./text-sql.ts";

/** The values of one SELECT, each bound once however many conditions have it. */
export type BoundValues = { readonly bind: Bind; readonly params: Readonly<Record<string, unknown>> };

/**
 * The server takes a request with at most 1,000 values, and a search may have 500 conditions: so numbers, which can end
 * no SQL, are written into it.
 */
export function bindValues(): BoundValues {
  const params: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const bind: Bind = (type, value) => {
    if (typeof value === "number") return `to${type}(${value})`;
    const key = `${type} ${JSON.stringify(value)}`;
    const name = names.get(key) ?? `p${names.size}`;
    names.set(key, name);
    params[name] = value;
    return `{${name}:${type}}`;
  };
  return { bind, params };
}
