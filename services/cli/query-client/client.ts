import { z } from "zod";
import { type CommandContext, UserError } from "../framework/command.ts";
import { printable } from "../framework/output.ts";
import { formatQueryErrors } from "./query-error.ts";
import { findQueryUrl } from "./url.ts";

export type QueryClientOptions = {
  /** Where the query interface is; undefined for `QUERY_URL`, or the service beside the command. */
  readonly url?: string | undefined;
  /** A workspace's key; undefined for `QUERY_KEY`. */
  readonly key?: string | undefined;
};

export type Question = {
  readonly method?: "GET" | "PUT" | "PATCH" | "POST" | "DELETE";
  /** From `/v3` on. */
  readonly path: string;
  /** Undefined values are left out. */
  readonly parameters?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: object;
  /** The query of the search language in it, to show what is wrong with it. */
  readonly query?: string;
};

/** A query interface that a command asks over HTTP. */
export type QueryClient = {
  /** Without a slash at its end. */
  readonly url: string;
  /** @throws UserError when the service does not answer, or with an error. */
  ask<Schema extends z.ZodType>(question: Question, schema: Schema): Promise<z.output<Schema>>;
};

/** Opens no connection yet. */
export async function queryClient(options: QueryClientOptions, { settings }: CommandContext): Promise<QueryClient> {
  const { query } = settings;
  const givenUrl = options.url ?? query.url;
  if (givenUrl !== undefined && !/^https?:\/\/./.test(givenUrl)) {
    throw new UserError(`--url takes a URL like http://localhost:8080, not "${givenUrl}"`);
  }
  const url = (givenUrl ?? (await findQueryUrl(settings))).replace(/\/+$/, "");
  const key = options.key ?? query.key;
  const headers = { accept: "application/json", ...(key !== undefined && { key }) };
  return {
    url,
    async ask(question, schema) {
      const { status, text, location } = await send(url, headers, question);
      if (location !== undefined)
        throw new UserError(`${url} redirects to ${printable(location)}: --url or QUERY_URL takes where it leads`);
      const body = parse(text);
      if (status >= 300) throw new UserError(explain({ url, status, body, query: question.query }));
      const parsed = schema.safeParse(body);
      if (!parsed.success)
        throw new UserError(`${url} answered something else than this version of Noisefloor expects`);
      return parsed.data;
    },
  };
}

type Response = {
  readonly status: number;
  readonly text: string;
  /** Where a redirect leads. */
  readonly location: string | undefined;
};

async function send(url: string, headers: Record<string, string>, question: Question): Promise<Response> {
  const { method = "GET", path, parameters = {}, body } = question;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { "content-type": "application/json" };
  try {
    const target = `${url}${path}${search.size === 0 ? "" : `?${search}`}`;
    // Not followed: the key is for this service alone.
    const init = { method, headers: { ...headers, ...type }, redirect: "manual", ...sent } as const;
    const response = await fetch(target, init);
    const { status, headers: received } = response;
    const location = status >= 300 && status < 400 ? (received.get("location") ?? undefined) : undefined;
    return { status, text: await response.text(), location };
  } catch (error) {
    throw new UserError(`no query service answers at ${url} (${reasonOf(error)}): --url or QUERY_URL names another`);
  }
}

/** The cause says more than "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

function parse(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const errorSchema = z.object({ message: z.string(), errors: z.unknown().optional() });

type Failure = {
  readonly url: string;
  readonly status: number;
  readonly body: unknown;
  readonly query: string | undefined;
};

/** What to do about a status, where that is not in its message. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: "--key or QUERY_KEY takes the key of a workspace",
  403: "--key or QUERY_KEY takes the key of another workspace",
  429: "--key or QUERY_KEY takes a key whose plan allows more",
};

function explain({ url, status, body, query }: Failure): string {
  const { data } = errorSchema.safeParse(body);
  const errors = query === undefined ? undefined : formatQueryErrors(query, data?.errors);
  if (errors !== undefined) return errors;
  const remedy = REMEDIES[status];
  const message = data === undefined ? "without a message: is it the query interface of Noisefloor?" : data.message;
  return `${url} answered ${status}: ${message}${remedy === undefined ? "" : ` (${remedy})`}`;
}
