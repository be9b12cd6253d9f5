/** Binds a value. @returns the SQL that stands for it. */
export type Bind = (type: string, value: unknown) => string;

/** The values of one SELECT, each bound once however many conditions have it. */
export type BoundValues = { readonly bind: Bind; readonly params: Readonly<Record<string, unknown>> };

/**
 * The server takes a request with at most 1,000 values, and a search may have 500 conditions: so numbers and texts of
 * digits, which can end no SQL, are written into it.
 */
export function bindValues(): BoundValues {
  const params: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const namesOfLists = new Map<object, string>();
  const nameOf = (type: string, value: unknown) => {
    const key = `${type} ${JSON.stringify(value)}`;
    const name = names.get(key) ?? `p${names.size}`;
    names.set(key, name);
    return name;
  };
  /** Hundreds of conditions may share a list of thousands. */
  const nameOfList = (type: string, list: object) => {
    const name = namesOfLists.get(list) ?? nameOf(type, list);
    namesOfLists.set(list, name);
    return name;
  };
  const bind: Bind = (type, value) => {
    if (typeof value === "number") return `to${type}(${value})`;
    if (type === "String" && typeof value === "string" && /^\d+$/.test(value)) return `'${value}'`;
    const isList = typeof value === "object" && value !== null;
    const name = isList ? nameOfList(type, value) : nameOf(type, value);
    params[name] = value;
    return `{${name}:${type}}`;
  };
  return { bind, params };
}
