import { retry } from "@noisefloor/domain/time/retry.ts";
import { z } from "zod";

/** An Elasticsearch or OpenSearch. */
export type SearchServer = {
  /** With a user and a password, if it asks for them. */
  readonly url: string;
  /** The Base64 of an API key's id and key. */
  readonly apiKey?: string | undefined;
  /** Names and patterns of indices, separated by commas. */
  readonly index: string;
  readonly signal: AbortSignal;
  /** Called when the server is busy or away, before it is asked again. */
  readonly onRetry: (error: unknown) => void;
};

/** What the user can mend: the message says how. */
export class HistoryError extends Error {
  override name = "HistoryError";
}

/** A failure that may pass by itself. */
class BusyError extends HistoryError {}

/** How long a server may be busy, restart or be out of reach. */
const RETRY_FOR_MS = 5 * 60_000;
const PAUSES = { firstMs: 500, maxMs: 30_000 };
const BUSY = new Set([429, 502, 503, 504]);

const errorSchema = z.object({
  error: z.object({
    type: z.string().optional(),
    reason: z.string().nullish(),
    root_cause: z.array(z.object({ reason: z.string().nullish() })).optional(),
  }),
});
const shardsSchema = z.object({ _shards: z.object({ total: z.int(), failed: z.int() }) });

/** Asks a call of an index, as `_search`. @returns its answer, of all shards. */
export type Ask = (call: string, body: object) => Promise<unknown>;

/** @throws HistoryError by each call. */
export function openSearchServer({ url, apiKey, index, signal, onRetry }: SearchServer): Ask {
  const { base, authorization } = readTarget(url, apiKey);
  const path = index.split(",").map(encodeURIComponent).join(",");
  let hasAnswered = false;

  const ask = async (call: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json", accept: "application/json", ...authorization };
    // Not followed: the password is for this server alone.
    const init = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual", signal } as const;
    const [response, text] = await fetch(`${base}/${path}/${call}`, init)
      .then(async (received) => [received, await received.text()] as const)
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw explainNoAnswer(base, error, hasAnswered);
      });
    if (!response.ok) throw explainStatus(base, index, response.status, parse(text));
    const answer = parse(text);
    const shards = shardsSchema.safeParse(answer).data?._shards;
    if (shards === undefined) throw new HistoryError(`${base} does not answer like Elasticsearch or OpenSearch`);
    hasAnswered = true;
    if (shards.total === 0) throw new HistoryError(`no index of ${base} is called ${index}`);
    // An answer without the hits of some shards is no answer.
    if (shards.failed > 0) throw new BusyError(`${shards.failed} of ${shards.total} shards of ${index} failed`);
    return answer;
  };
  return (call, body) => {
    const isTransient = (error: unknown) => error instanceof BusyError;
    return retry(() => ask(call, body), { forMs: RETRY_FOR_MS, isTransient, pauses: PAUSES, signal, onRetry });
  };
}

function readTarget(url: string, apiKey: string | undefined) {
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "")) {
    throw new HistoryError("--elasticsearch takes a URL like https://user:password@es.example.org:9200");
  }
  const target = new URL(url);
  const login = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`;
  const basic = login === ":" ? {} : { authorization: `Basic ${Buffer.from(login).toString("base64")}` };
  const base = `${target.origin}${target.pathname.replace(/\/+$/, "")}`;
  return { base, authorization: apiKey === undefined ? basic : { authorization: `ApiKey ${apiKey}` } };
}

function explainStatus(base: string, index: string, status: number, body: unknown): HistoryError {
  const { error } = errorSchema.safeParse(body).data ?? {};
  const reason = error?.root_cause?.[0]?.reason ?? error?.reason ?? `status ${status}`;
  if (BUSY.has(status)) return new BusyError(`${base} is busy: ${reason}`);
  if (status === 401)
    return new HistoryError(`${base} asks for a user: give them in the URL, or ELASTICSEARCH_API_KEY`);
  if (status === 403) return new HistoryError(`this user of ${base} may not read ${index}: ${reason}`);
  if (error?.type === "index_not_found_exception") return new HistoryError(`no index of ${base} is called ${index}`);
  return new HistoryError(`${base} answered with ${status}: ${reason}`);
}

/** What TLS says when a certificate is not trusted, in Node's words. */
const UNTRUSTED = /^(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(?:VERIFY|GET)|^CERT_|^ERR_TLS_CERT/;

function explainNoAnswer(base: string, error: unknown, hasAnswered: boolean): HistoryError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const message = cause instanceof Error ? cause.message || code : String(cause);
  if (UNTRUSTED.test(code)) {
    return new HistoryError(
      `the certificate of ${base} is not trusted (${message}): NODE_EXTRA_CA_CERTS names the file of its authority`,
    );
  }
  if (/ERR_SSL|EPROTO/.test(code)) return new HistoryError(`${base} speaks no TLS, it seems: try http://`);
  const told = `${base} does not answer (${message})`;
  return hasAnswered ? new BusyError(told) : new HistoryError(told);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
