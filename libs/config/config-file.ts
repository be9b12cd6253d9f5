import { isCollection, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { ConfigError, type ConfigFile } from "./env.ts";
import { nearestSetting } from "./nearest.ts";

/**
 * Reads a YAML map of settings by the names of their environment variables. A list stands for values separated by
 * commas, a map for JSON. A scalar is its text as written: a password of digits keeps its leading zeros.
 * @throws ConfigError that lists every error with its line. It quotes no value, which may be a secret.
 */
export function parseConfigFile(text: string, path: string, settings: readonly string[]): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  const at = (offset: number | undefined) => (offset === undefined ? "" : ` line ${lines.linePos(offset).line}:`);
  const errors = document.errors.map(({ code, pos }) => `${at(pos[0])} ${YAML_ERRORS[code] ?? "is not valid YAML"}`);
  if (errors.length > 0) throw invalid(path, errors);
  const map = document.contents;
  if (map === null || (isScalar(map) && map.value === null)) return { path, values: {} };
  if (!isMap<Node, Node | null>(map)) throw invalid(path, [" takes settings as a map, like RETENTION_DAYS: 90"]);
  const values: Record<string, string> = {};
  for (const { key, value } of map.items) {
    const name = String(isScalar(key) ? key.value : "");
    const line = at(key.range?.[0]);
    const settingText = textOf(value);
    if (!settings.includes(name)) errors.push(`${line} ${unknownSetting(name, settings)}`);
    else if (settingText === undefined) errors.push(`${line} ${name} takes a text, a list of texts or a map`);
    else values[name] = settingText;
  }
  if (errors.length > 0) throw invalid(path, errors);
  return { path, values };
}

const YAML_ERRORS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "the setting is already set above",
  TAB_AS_INDENT: "a tab cannot indent: use spaces",
  MULTIPLE_DOCS: "a second document begins: only one is read",
};

function invalid(path: string, errors: readonly string[]): ConfigError {
  return new ConfigError(`invalid configuration file ${path}:\n${errors.map((error) => ` ${error}`).join("\n")}`);
}

function unknownSetting(name: string, settings: readonly string[]): string {
  const nearest = nearestSetting(name, settings);
  return `there is no setting ${JSON.stringify(name)}${nearest === undefined ? "" : `: did you mean ${nearest}?`}`;
}

/** Undefined for a value that has no text form. An absent value is empty, which counts as not set. */
function textOf(node: Node | null): string | undefined {
  if (node === null) return "";
  if (isScalar(node)) return scalarText(node);
  if (isSeq<Node>(node)) {
    const items = node.items.map((item) => (isScalar(item) ? scalarText(item) : undefined));
    // A comma would make two of one.
    return items.every((item) => item !== undefined && !item.includes(",")) ? items.join(",") : undefined;
  }
  return isCollection(node) ? JSON.stringify(node) : undefined;
}

function scalarText({ value, source }: { readonly value: unknown; readonly source?: string }): string {
  if (value === null) return "";
  return typeof value === "string" ? value : (source ?? String(value));
}
