import type { CheckDescribed } from "../oracle/description.ts";
import type { DescribedOperation, FuzzRequest } from "./drafts.ts";

/** The header field in which an application under test names the operation that answered. */
export const OPERATION_HEADER = "x-answered-by";

export type FuzzAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
};

/** As Fastify words its errors; Elasticsearch does, too. */
const OTHER_SHAPE = '"error":';
/** Texts that an answer contains only when internals leak. */
const LEAKS = [
  /\bSELECT\b[\s\S]*\bFROM\b/i,
  /\bINSERT INTO\b/i,
  /DB::|ClickHouse|JSONEachRow|toDateTime64|Code: \d+\./,
  /\n\s+at |node_modules|node:internal|file:\/\/|\.[cm]?[jt]s:\d+|\/(?:work|home|usr|app|tmp)\//,
  /\b(?:Syntax|Type|Range|Reference|Zod|URI)Error\b|Unexpected (?:token|end|non-whitespace)|in JSON at|at position \d/,
  /FST_ERR|HPE_|ERR_HTTP|Z_[A-Z]+_ERROR|incorrect header check|secure-json|forbidden prototype/,
  /\bfastify\b|light-my-request|find-my-way|is not a valid url component|Route \w+:/i,
  /\bRequest body\b|Body (?:is not|cannot be)|Unsupported Media Type|did not match Content-Length/,
  /"statusCode"|"code":"[A-Z]|"stack"/,
  new RegExp(OTHER_SHAPE),
  /Invalid input: expected|Too (?:big|small): expected|Unrecognized key/,
];

const JSON_TYPE = "application/json";

/** Operations that answer browsers instead of programs. */
const PAGES: ReadonlySet<string> = new Set(["toDocs"]);

/** The statuses for a request that is not as described. */
const FORM_ERRORS: ReadonlySet<number> = new Set([400, 405, 408, 413, 414, 415, 417, 426, 431]);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** @returns what is wrong with an answer, if anything. */
export type CheckAnswer = (request: FuzzRequest, answer: FuzzAnswer) => string | undefined;

/** Checks answers against an interface's description, and rules that hold for every answer. */
export function answerChecks(operations: readonly DescribedOperation[], check: CheckDescribed): CheckAnswer {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));

  return (request, { status, headers, text }) => {
    // Undefined when no operation has answered.
    const operation = byId.get(String(headers[OPERATION_HEADER]));
    if (status >= 500) return "an answer of 5xx";
    const isOfPage = PAGES.has(String(headers[OPERATION_HEADER]));
    const isUnknownPage =
      operation === undefined && status === 404 && /\btext\/html\b/i.test(request.headers.accept ?? "");
    if ((isOfPage || isUnknownPage) && String(headers["content-type"]).startsWith("text/html"))
      return faultOfPage(text, request.method);
    if (isOfPage && status === 303) return undefined;
    if (status === 304)
      return request.headers["if-none-match"] === undefined ? "a 304 that was not asked for" : undefined;
    if (status === 204) return text === "" && headers["content-type"] === undefined ? undefined : "a 204 with a body";
    const mediaType = String(headers["content-type"]).replaceAll(/; ?(?:charset=utf-8|header=present)/g, "");
    const described = (status < 400 ? operation?.mediaTypes[status] : undefined) ?? [JSON_TYPE];
    if (!described.includes(mediaType)) return `an answer of the type ${mediaType}`;
    if (headers["retry-after"] !== undefined) return "Retry-After, which clients sleep for";
    if (!/^[\w.-]{1,64}$/.test(String(headers["x-request-id"] ?? "none"))) return "a request id out of the request";
    // HEAD has no body: the server drops the application's.
    if (request.method === "HEAD") return undefined;

    const isElasticsearch = headers["x-elastic-product"] !== undefined;
    const leak = leakIn(isElasticsearch ? text.replaceAll(OTHER_SHAPE, "") : text);
    if (leak !== undefined) return leak;
    const isSchemas = mediaType === described[0];
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(mediaType);
    const body = isJson ? parsed(text) : text;
    if (body === undefined) return "a body that is not JSON";
    if (!isJson && faultOfText(mediaType, text) !== undefined) return faultOfText(mediaType, text);
    if (status >= 400 && !(isRecord(body) && typeof body.message === "string" && body.message !== "")) {
      return "an error response without a message";
    }
    if (status === 405 && headers.allow === undefined) return "a 405 that does not say what is allowed";
    if (operation === undefined && ![400, 403, 404, 405, 431, ...(isOfPage ? [406] : [])].includes(status))
      return "no operation, but an answer of one";
    if (operation === undefined && Object.keys(isRecord(body) ? body : {}).join() !== "message")
      return "more than a message";
    const fault = operation && isSchemas ? check(operation.method, operation.path, status, body) : undefined;
    if (fault !== undefined) return fault;
    if (request.expects === "rejected" && status < 400) return "a success for what the description does not allow";
    if (request.expects === "accepted" && (FORM_ERRORS.has(status) || operation?.id !== request.operation)) {
      return "an error for what the description allows";
    }
    return undefined;
  };
}

/** Pages have no description: each must be complete, without a script and without internals. */
function faultOfPage(text: string, method: string): string | undefined {
  if (method === "HEAD") return undefined;
  if (!text.startsWith("<!doctype html>") || !text.endsWith("</html>\n")) return "an incomplete page";
  if (/<script|\son\w+=/i.test(text)) return "a page with a script";
  return leakIn(text);
}

function leakIn(text: string): string | undefined {
  const leak = LEAKS.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
  return leak === undefined ? undefined : `internals: ${leak}`;
}

/** Lists of lines must be complete; other media types have tests of their own. */
function faultOfText(mediaType: string, text: string): string | undefined {
  if (mediaType === "application/x-ndjson") {
    const [last, ...lines] = text.split("\n").reverse();
    return last === "" && lines.every((line) => parsed(line) !== undefined) ? undefined : "lines that are not JSON";
  }
  if (mediaType === "text/csv" && !text.endsWith("\n")) return "a last line that is cut";
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_SHOWN = 600;

/** A request and its answer, as text for an error message. */
export function formatFailure(
  { method, target, headers, payload, from, expects }: FuzzRequest,
  answer: FuzzAnswer,
): string {
  const cut = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}... (${text.length})` : text);
  const lines = [
    `${method} ${cut(target)} from ${from}, to be ${expects}`,
    cut(JSON.stringify(headers)),
    payload === undefined ? "no body" : `body ${cut(JSON.stringify(payload.toString("utf8")))}`,
    `answer ${answer.status} ${cut(answer.text)}`,
    cut(JSON.stringify(answer.headers)),
  ];
  return lines.join("\n  ");
}
