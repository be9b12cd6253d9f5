import { parseDocument } from "yaml";
import { compileConditions } from "./conditions.ts";
import { compilePattern } from "./patterns.ts";
import { type FieldMap, fieldMapShape } from "./schema.ts";

/** The whole line, for conditions of text lines. */
export const LINE = "line";

/** The map, or all its errors, a line each. */
export type ReadMap = { readonly map: FieldMap } | { readonly problems: readonly string[] };

/** Reads a field map out of YAML. */
export function readFieldMap(text: string): ReadMap {
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    return { problems: document.errors.map(({ message }) => message.split("\n", 1)[0] ?? message) };
  }
  const map = fieldMapShape.safeParse(document.toJS());
  if (!map.success) {
    return {
      problems: map.error.issues.map(({ path, message }) =>
        path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`,
      ),
    };
  }
  const problems = [...findProblems(map.data)];
  return problems.length === 0 ? { map: map.data } : { problems };
}

function* findProblems(map: FieldMap): Generator<string> {
  const { pattern, csv, fields, recognize, ignore, escaped } = map;
  if (fields.source_ip === undefined) yield "fields.source_ip: is required";
  if (pattern !== undefined && csv !== undefined) yield "csv: a map has either a pattern or csv, not both";
  if (escaped && pattern === undefined) yield "escaped: goes with a pattern alone";
  const conditions = [
    { place: "recognize", when: recognize },
    ...ignore.map(({ when }, index) => ({ place: `ignore.${index}.when`, when })),
  ];
  for (const { place, when } of conditions) {
    const compiled = compileConditions(when);
    if (typeof compiled === "function") continue;
    for (const [path, problem] of compiled) yield `${place}.${path}: the pattern ${problem}`;
  }
  for (const [index, { when }] of ignore.entries()) {
    if (Object.keys(when).length === 0) yield `ignore.${index}.when: needs a condition`;
  }
  const known = yield* fieldNames(map);
  if (known === undefined) return;
  for (const [member, paths] of Object.entries(fields)) {
    for (const path of [paths ?? []].flat()) {
      if (!known.names.has(path)) yield `fields.${member}: ${known.what} ${path}`;
    }
  }
  for (const { place, when } of conditions) {
    for (const path of Object.keys(when)) {
      if (path !== LINE && !known.names.has(path)) yield `${place}: ${known.what} ${path}`;
    }
  }
}

/** The names of a text line's fields; undefined when they are not known before a record comes. */
function* fieldNames({ pattern, csv }: FieldMap): Generator<string, { names: Set<string>; what: string } | undefined> {
  if (csv?.columns !== undefined) return { names: new Set(csv.columns), what: "csv.columns has no" };
  if (pattern === undefined) return undefined;
  const names = new Set<string>();
  let isComplete = true;
  for (const source of [pattern].flat()) {
    const compiled = compilePattern(source);
    if (typeof compiled === "string") {
      isComplete = false;
      yield `pattern: ${JSON.stringify(source)} ${compiled}`;
    } else for (const group of compiled.groups) names.add(group);
  }
  if (names.has(LINE)) yield `pattern: "${LINE}" is the whole line; give the group another name`;
  return isComplete ? { names, what: "no pattern has a group" } : undefined;
}
