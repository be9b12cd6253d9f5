import type { Taggable } from "@noisefloor/ingest/tagging/matching/fields.ts";

/** A rule's fields as its file has them: all must match. */
export type RawFields = Readonly<Record<string, unknown>>;
/** A condition, as a tree. */
export type RawCondition =
  | { readonly use: string }
  | { readonly not: RawCondition }
  | { readonly all: readonly RawCondition[] }
  | { readonly any: readonly RawCondition[] };

/** Matches as docs/tagging-rules.md describes it, one field after the other: shares no code with the tagger. */
export function naivelyMatches(fields: RawFields, observation: Taggable): boolean {
  return Object.entries(fields).every(([key, value]) => fieldMatches(key, value, observation));
}

export function naivelyHolds(
  condition: RawCondition,
  selections: Readonly<Record<string, RawFields>>,
  observation: Taggable,
): boolean {
  if ("use" in condition) return naivelyMatches(selections[condition.use] ?? {}, observation);
  if ("not" in condition) return !naivelyHolds(condition.not, selections, observation);
  const isOne = (part: RawCondition) => naivelyHolds(part, selections, observation);
  return "all" in condition ? condition.all.every(isOne) : condition.any.some(isOne);
}

function fieldMatches(key: string, value: unknown, observation: Taggable): boolean {
  const [field = "", ...modifiers] = key.split("|");
  const has = (modifier: string) => modifiers.includes(modifier);
  const found = valuesOf(field, observation).filter((one) => one !== undefined && one !== "");
  if (has("exists")) return found.length > 0 === value;
  const wanted: unknown[] = Array.isArray(value) ? value : [value];
  const isOne = (one: unknown) => found.some((text) => valueMatches(field, has, one, text ?? ""));
  return has("all") ? wanted.every(isOne) : wanted.some(isOne);
}

function valueMatches(field: string, has: (modifier: string) => boolean, wanted: unknown, found: string | number) {
  if (typeof found === "number") {
    const limit = Number(wanted);
    if (has("lt")) return found < limit;
    if (has("lte")) return found <= limit;
    if (has("gt")) return found > limit;
    return has("gte") ? found >= limit : found === limit;
  }
  if (field === "source_ip") return isInNetwork(found, String(wanted));
  const isDecoded = ["path", "query", "uri", "host", "user_agent", "referer", "body", "command", "url"].includes(field);
  const fold = (text: string) => (has("cased") ? text : text.toLowerCase().replaceAll("ſ", "s"));
  const text = fold(isDecoded && !has("raw") ? decode(decode(found)) : found);
  if (has("re")) return new RegExp(String(wanted), has("cased") ? "u" : "iu").test(text);
  const value = fold(String(wanted));
  if (has("contains")) return text.includes(value);
  if (has("startswith")) return text.startsWith(value);
  if (has("endswith")) return text.endsWith(value);
  return new RegExp(`^${wildcardsToPattern(value)}$`, "s").test(text);
}

function wildcardsToPattern(value: string): string {
  return value.replaceAll(/\\[*?\\]|[\s\S]/g, (part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    const plain = part.length === 2 ? part.slice(1) : part;
    return plain.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
}

function decode(text: string): string {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; ) {
    const hex = /^%([0-9a-f]{2})/i.exec(text.slice(index, index + 3))?.[1];
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else bytes.push(...Buffer.from(String.fromCodePoint(text.codePointAt(index) ?? 0)));
    index += hex === undefined ? String.fromCodePoint(text.codePointAt(index) ?? 0).length : 3;
  }
  return Buffer.from(bytes).toString();
}

function isInNetwork(address: string, network: string): boolean {
  const toNumber = (text: string) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const [first = "", bits = "32"] = network.split("/");
  const size = 2 ** (32 - Number(bits));
  return Math.floor(toNumber(address) / size) === Math.floor(toNumber(first) / size);
}

function valuesOf(field: string, observation: Taggable): readonly (string | number | undefined)[] {
  const { http, credentials = [] } = observation;
  switch (field) {
    case "path":
      return [http?.path];
    case "query":
      return [http?.query];
    case "uri":
      return [http?.query ? `${http.path ?? ""}?${http.query}` : http?.path];
    case "user_agent":
      return [http?.user_agent];
    case "method":
      return [http?.method];
    case "header":
      return http?.headers ?? [];
    case "username":
      return credentials.map(({ username }) => username);
    case "command":
      return observation.commands ?? [];
    case "label":
      return observation.labels ?? [];
    case "destination_port":
      return [observation.destination_port];
    case "login_attempts":
      return [observation.login_attempts];
    case "source_ip":
      return [observation.source_ip];
    default:
      throw new Error(`the naive matcher has no field ${field}`);
  }
}
