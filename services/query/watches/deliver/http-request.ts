import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { cut } from "@noisefloor/domain/text/show-invisible.ts";
import { assertAllowed, type DestinationPolicy } from "./policy.ts";

/** What a destination gets by HTTP: a POST. */
export type Post = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type PostAnswer = {
  readonly status: number;
  /** Its first {@link MAX_BODY_CHARACTERS}. */
  readonly body: string;
};

const MAX_BODY_CHARACTERS = 1_000;
const MAX_BODY_BYTES = 4 * MAX_BODY_CHARACTERS;

/**
 * Posts over a connection of its own, and follows no redirect.
 * @returns the answer, once its beginning is read.
 * @throws Error when there is none.
 */
export async function post(
  { url, headers, body }: Post,
  {
    policy,
    ca,
    signal,
  }: { readonly policy: DestinationPolicy; readonly ca: string | undefined; readonly signal: AbortSignal },
): Promise<PostAnswer> {
  const target = new URL(url);
  assertAllowed(target.hostname.replace(/^\[|\]$/g, ""), policy);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method: "POST",
      headers: { "user-agent": "Noisefloor", ...headers, "content-length": Buffer.byteLength(body) },
      lookup: policy.lookup,
      // A connection that was made earlier would not be checked again.
      agent: false,
      signal,
    };
    const sent =
      target.protocol === "https:"
        ? requestHttps(target, { ...options, ...(ca !== undefined && { ca }) }, resolve)
        : requestHttp(target, options, resolve);
    sent.on("error", reject);
    // An answer that switches to another protocol is none.
    sent.on("close", () => reject(new Error("the connection was closed without an answer")));
    sent.end(body);
  });
  return { status: response.statusCode ?? 0, body: await readBeginning(response) };
}

/** An answer whose status is there is one, also when the rest of it never comes. */
async function readBeginning(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_BODY_BYTES) break;
    }
  } catch {
    // The connection broke or took too long.
  }
  response.destroy();
  return cut(Buffer.concat(chunks).toString(), MAX_BODY_CHARACTERS);
}
