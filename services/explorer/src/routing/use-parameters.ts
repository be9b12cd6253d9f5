import { useLocation } from "preact-iso";
import { withQuery } from "./paths.ts";

/** The query of the page's URL, so that a page as it is can be shared. `set` adds an entry to the browser's history. */
export function useParameters<Name extends string>(
  defaults: Readonly<Record<Name, string>>,
): { readonly values: Record<Name, string>; set(changes: Partial<Record<Name, string>>, replaces?: boolean): void } {
  const { path, query, route } = useLocation();
  const values: Record<Name, string> = { ...defaults };
  for (const name in defaults) values[name] = query[name] ?? defaults[name];
  return {
    values,
    set: (changes, replaces = false) => route(withQuery(path, { ...values, ...changes }, defaults), replaces),
  };
}

/** The value if it is one of those offered, else the default. */
export function oneOf<Value extends string>(offered: readonly Value[], value: string, fallback: Value): Value {
  return offered.find((one) => one === value) ?? fallback;
}
