import { ConversionError } from "../imported-rule.ts";
import { type Comparison, type Frame, framedRegex, quote, wholeClause } from "./value.ts";

/** A comparison in our form: one field with its values. */
export type Clause = { readonly key: string; readonly values: readonly string[] };

const ANY_NAME = "[^=&]*";

/** An argument of a query or a form. Names are compared without regard to case. */
const argument = (variable: string | undefined): Frame => ({
  before: `(?:&|^)(?i:${variable === undefined ? ANY_NAME : nameOf(variable)})=`,
  after: "(?:&|$)",
  end: "&",
});
const jsonMember = (variable: string): Frame => ({
  before: `(?i:"${quote(lastOf(variable))}")\\s*:\\s*"?`,
  after: '(?:"|\\s*[,}]|$)',
  end: '"',
});
const multipart = (variable: string): Frame => ({
  before: `(?i:name="${quote(variable)}")(?:;[^\\r\\n]*)?(?:\\r?\\n[^\\r\\n]+)*\\r?\\n\\r?\\n`,
  after: "\\r?\\n--",
  end: "\\r\\n",
});
const FILE_NAME: Frame = { before: '(?i:filename=")', after: '"', end: '"' };

const NAMES: readonly Frame[] = [
  { before: "(?:&|^)", after: "(?:[=&]|$)", end: "=&" },
  { before: '(?i:name=")', after: '"', end: '"' },
];

/** Where our observations have what a zone has: a whole field, or a value inside it in each of some frames. */
type Place = { readonly field: string; readonly frames?: readonly Frame[] };

/** @returns our form of a zone with or without a variable. @throws ConversionError */
export function convertZone(zone: string, variable: string | undefined, comparison: Comparison): Clause {
  const { field, frames } = placeOf(zone, variable);
  if (frames !== undefined) {
    const key = `${field}|re${comparison.isCased ? "|cased" : ""}`;
    return { key, values: frames.map((frame) => framedRegex(frame, comparison)) };
  }
  const [key, value] = wholeClause(field, comparison);
  return { key, values: [value] };
}

function placeOf(zone: string, variable: string | undefined): Place {
  switch (zone) {
    case "METHOD":
      return { field: "method" };
    case "URI":
      return { field: "path" };
    case "URI_FULL":
      return { field: "uri" };
    case "ARGS":
      return { field: "query", frames: [argument(variable)] };
    case "ARGS_NAMES":
      return { field: "query", frames: NAMES.slice(0, 1) };
    case "RAW_BODY":
      return { field: "body" };
    case "BODY_ARGS":
      return { field: "body", frames: bodyArgument(variable) };
    case "BODY_ARGS_NAMES":
      return { field: "body", frames: NAMES };
    case "FILENAMES":
      return { field: "body", frames: [FILE_NAME] };
    case "HEADERS_NAMES":
      return { field: "header" };
    case "HEADERS":
      return header(required(zone, variable));
    case "COOKIES":
      return { field: "header_line", frames: [cookie(required(zone, variable))] };
    default:
      throw new ConversionError(`an observation has no ${zone}`);
  }
}

/** Forms have arguments, and JSON has members, which are called `json.` and the path to them. */
function bodyArgument(variable: string | undefined): Frame[] {
  if (variable?.startsWith("json.")) return [jsonMember(variable)];
  const isPlain = variable !== undefined && !isPattern(variable);
  return isPlain ? [argument(variable), multipart(variable)] : [argument(variable)];
}

/** A path into JSON becomes a search for its last name, wherever it stands. */
function lastOf(variable: string): string {
  const last = variable.split(".").at(-1) ?? "";
  if (last === "" || /^\d+$/.test(last)) throw new ConversionError(`${variable}: the path does not end with a name`);
  return last;
}

const HEADER_FIELDS: Readonly<Record<string, string>> = {
  "user-agent": "user_agent",
  referer: "referer",
  host: "host",
};

function header(variable: string): Place {
  const field = HEADER_FIELDS[variable.toLowerCase()];
  if (field !== undefined) return { field };
  const frame = { before: `^(?i:${quote(variable)}):\\s*`, after: "\\s*$", end: "\\r\\n" };
  return { field: "header_line", frames: [frame] };
}

const cookie = (variable: string): Frame => ({
  before: `^(?i:cookie):(?:.*;)?\\s*(?i:${nameOf(variable)})=`,
  after: "(?:;|$)",
  end: ";",
});

/** A name, or between slashes a regular expression of names. */
const isPattern = (variable: string) => /^\/.*\/$/.test(variable);
function nameOf(variable: string): string {
  return isPattern(variable)
    ? variable
        .slice(1, -1)
        .replaceAll(/(?<!\\)\./g, ANY_CHARACTER)
        .replace(/\$$/, "")
    : quote(variable);
}
const ANY_CHARACTER = "[^=&;]";

function required(zone: string, variable: string | undefined): string {
  if (variable === undefined) throw new ConversionError(`${zone} without a name is not supported`);
  return variable;
}
