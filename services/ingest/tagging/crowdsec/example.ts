import type { Node } from "./rules.ts";
import { type Comparison, exampleValue } from "./value.ts";
import type { Example } from "./zones.ts";

/** A request of which a rule should hold: of alternatives the first. It need not match, so the caller has to try it. */
export function exampleOf(node: Node): Record<string, unknown> {
  const parts = partsOf(node);
  const texts = (member: Exclude<keyof Example, "path">) => parts.flatMap((part) => part[member] ?? []);
  const json = texts("json");
  const body = [...texts("form"), ...(json.length === 0 ? [] : [`{${json.join(", ")}}`])].join("&");
  const uri = pathOf(parts.flatMap(({ path }) => path ?? []));
  const [path, query] = uri.includes("?")
    ? [uri.slice(0, uri.indexOf("?")), uri.slice(uri.indexOf("?") + 1)]
    : [uri, ""];
  const example = {
    method: texts("method")[0],
    path: path || undefined,
    query: [...(query === "" ? [] : [query]), ...texts("query")].join("&") || undefined,
    host: texts("host")[0],
    user_agent: texts("user_agent")[0],
    referer: texts("referer")[0],
    header: texts("header"),
    header_line: texts("line"),
    body: [body, ...texts("raw")].filter((text) => text !== "").join("\n") || undefined,
  };
  return Object.fromEntries(
    Object.entries(example).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

function partsOf(node: Node): Example[] {
  if (node.kind === "any") return node.clauses.slice(0, 1).map(({ example }) => example);
  return (node.kind === "and" ? node.parts : node.parts.slice(0, 1)).flatMap(partsOf);
}

function pathOf(comparisons: readonly Comparison[]): string {
  const of = (type: Comparison["type"]) => comparisons.filter((one) => one.type === type);
  const [whole] = of("equals");
  if (whole !== undefined) return whole.value;
  const start = of("startsWith")[0]?.value ?? "";
  const middle = [...of("contains"), ...of("regex")].map((one) =>
    one.type === "regex" ? exampleValue(one) : one.value,
  );
  return [start, ...middle, of("endsWith")[0]?.value ?? ""].join("");
}
