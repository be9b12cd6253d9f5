/** A JSON object whose members may be anything. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The names of the paths that code and field maps ask for, which are few. */
const namesOfPath = new Map<string, readonly string[]>();

/** The value at a path like `http.url`: of a member that is called so, dots and all, or of nested objects. */
export function at(record: Fields, path: string): unknown {
  if (Object.hasOwn(record, path)) return record[path];
  if (!path.includes(".")) return undefined;
  const names = namesOfPath.get(path) ?? path.split(".");
  namesOfPath.set(path, names);
  let value: unknown = record;
  for (const name of names) {
    if (!isFields(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The object at a path; an empty one if the path leads to none. */
export function objectAt(record: Fields, path: string): Fields {
  const value = at(record, path);
  return isFields(value) ? value : {};
}

/** The values of the list at a path; a single value counts as a list of one, and none as an empty one. */
export function listAt(record: Fields, path: string): readonly unknown[] {
  const value = at(record, path);
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** A text or number as text; undefined for anything else, and for the empty text. */
export function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" && Number.isFinite(value) ? String(value) : undefined;
}

/** The first of some paths that holds a text or number. */
export function textAt(record: Fields, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const text = toText(at(record, path));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** A port, also as text; undefined for anything else, like the -1 of a sensor that does not know it. */
export function portAt(record: Fields, ...paths: readonly string[]): number | undefined {
  const text = textAt(record, ...paths);
  const port = text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  return port !== undefined && port <= 65_535 ? port : undefined;
}

/** The texts of the list at a path. */
export function textsAt(record: Fields, path: string): string[] {
  return listAt(record, path).flatMap((value) => toText(value) ?? []);
}
