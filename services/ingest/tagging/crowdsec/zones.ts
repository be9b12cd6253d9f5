import { ConversionError } from "../imported/imported-rule.ts";
import { type Comparison, exampleValue, type Frame, framedRegex, wholeClause } from "./value.ts";

/** A comparison in our form: one field with its values, and a request for which it holds. */
export type Clause = { readonly key: string; readonly values: readonly string[]; readonly example: Example };

/** Parts of a request; parts of the same kind are put together. */
export type Example = {
  readonly path?: Comparison;
  readonly method?: string;
  /** Of a query or a form: `name=value`. */
  readonly query?: string;
  readonly form?: string;
  /** A member of a JSON object. */
  readonly json?: string;
  readonly raw?: string;
  readonly header?: string;
  readonly line?: string;
  readonly host?: string;
  readonly user_agent?: string;
  readonly referer?: string;
};

const ANY_NAME = "[^=&]*";
const name = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** An argument of a query or a form. Names are compared without regard to case. */
const argument = (variable: string | undefined): Frame => ({
  before: `(?:^|&)(?i:${variable === undefined ? ANY_NAME : nameOf(variable)})=`,
  after: "(?:&|$)",
  end: "&",
});
const jsonMember = (variable: string): Frame => ({
  before: `(?i:"${name(lastOf(variable))}")\\s*:\\s*"?`,
  after: '(?:"|\\s*[,}]|$)',
  end: '"',
});
const multipart = (variable: string): Frame => ({
  before: `(?i:name="${name(variable)}")(?:;[^\\r\\n]*)?(?:\\r?\\n[^\\r\\n]+)*\\r?\\n\\r?\\n`,
  after: "\\r?\\n--",
  end: "\\r\\n",
});
const FILE_NAME: Frame = { before: '(?i:filename=")', after: '"', end: '"' };

/** @returns our form of a zone with or without a variable. @throws ConversionError */
export function convertZone(zone: string, variable: string | undefined, comparison: Comparison): Clause {
  const value = exampleValue(comparison);
  const whole = (field: string, example: Example): Clause => {
    const [key, one] = wholeClause(field, comparison);
    return { key, values: [one], example };
  };
  const framed = (field: string, frames: readonly Frame[], example: Example): Clause => ({
    key: `${field}|re${comparison.isCased ? "|cased" : ""}`,
    values: frames.map((frame) => framedRegex(frame, comparison)),
    example,
  });
  switch (zone) {
    case "METHOD":
      return whole("method", { method: value });
    case "URI":
      return whole("path", { path: comparison });
    case "URI_FULL":
      return whole("uri", { path: comparison });
    case "ARGS":
      return framed("query", [argument(variable)], { query: `${plainName(variable) ?? "x"}=${value}` });
    case "ARGS_NAMES":
      return framed("query", [{ before: "(?:^|&)", after: "(?:[=&]|$)", end: "=&" }], { query: `${value}=x` });
    case "RAW_BODY":
      return whole("body", { raw: value });
    case "BODY_ARGS":
      return bodyArgument(variable, value, framed);
    case "BODY_ARGS_NAMES":
      return framed("body", NAMES, { form: `${value}=x` });
    case "FILENAMES":
      return framed("body", [FILE_NAME], { raw: `filename="${value}"` });
    case "HEADERS_NAMES":
      return whole("header", { header: value });
    case "HEADERS":
      return header(required(zone, variable), value, whole, framed);
    case "COOKIES":
      return framed("header_line", [cookie(required(zone, variable))], {
        line: `Cookie: ${plainName(variable)}=${value}`,
      });
    default:
      throw new ConversionError(`an observation has no ${zone}`);
  }
}

const NAMES: readonly Frame[] = [
  { before: "(?:^|&)", after: "(?:[=&]|$)", end: "=&" },
  { before: '(?i:name=")', after: '"', end: '"' },
];

type Framed = (field: string, frames: readonly Frame[], example: Example) => Clause;
type Whole = (field: string, example: Example) => Clause;

/** Forms have arguments, and JSON has members, which are called `json.` and the path to them. */
function bodyArgument(variable: string | undefined, value: string, framed: Framed): Clause {
  if (variable?.startsWith("json.")) {
    const member = lastOf(variable);
    return framed("body", [jsonMember(variable)], { json: `"${member}": ${JSON.stringify(value)}` });
  }
  const form = `${plainName(variable) ?? "x"}=${value}`;
  const isPlain = variable !== undefined && !isPattern(variable);
  return framed("body", isPlain ? [argument(variable), multipart(variable)] : [argument(variable)], { form });
}

/** A path into JSON becomes a search for its last name, wherever it stands. */
function lastOf(variable: string): string {
  const last = variable.split(".").at(-1) ?? "";
  if (last === "" || /^\d+$/.test(last)) throw new ConversionError(`${variable}: the path does not end with a name`);
  return last;
}

function header(variable: string, value: string, whole: Whole, framed: Framed): Clause {
  switch (variable.toLowerCase()) {
    case "user-agent":
      return whole("user_agent", { user_agent: value });
    case "referer":
      return whole("referer", { referer: value });
    case "host":
      return whole("host", { host: value });
    default: {
      const line: Frame = { before: `^(?i:${name(variable)}):\\s*`, after: "\\s*$", end: "\\r\\n" };
      return framed("header_line", [line], { line: `${variable}: ${value}` });
    }
  }
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
    : name(variable);
}
const ANY_CHARACTER = "[^=&;]";

function plainName(variable: string | undefined): string | undefined {
  if (variable === undefined || !isPattern(variable)) return variable;
  return exampleValue({ type: "regex", value: nameOf(variable), isCased: false });
}

function required(zone: string, variable: string | undefined): string {
  if (variable === undefined) throw new ConversionError(`${zone} without a name is not supported`);
  return variable;
}
