import { BASE } from "../routing/paths.ts";
import { ApiFailure } from "./failure.ts";
import type { Question } from "./questions.ts";

/** @param key the caller's, empty for none. @throws ApiFailure */
export async function ask<Answer>(question: Question<Answer>, key: string, signal: AbortSignal): Promise<Answer> {
  const response = await send(question, key, signal);
  if (!response.ok) throw new ApiFailure(response.status, messageIn(await response.json().catch(() => undefined)));
  if (response.status === NO_CONTENT && question.onNoContent !== undefined) return question.onNoContent;
  try {
    // Not parsed again: the service's tests compare its answers with the schemas that the types come from.
    return await response.json();
  } catch {
    throw new ApiFailure(502, "The answer is no JSON");
  }
}

/** An answer that is no JSON. @throws ApiFailure */
export async function askFile(url: string, key: string, signal: AbortSignal): Promise<Blob> {
  const response = await send({ url }, key, signal);
  if (!response.ok) throw new ApiFailure(response.status, messageIn(await response.json().catch(() => undefined)));
  return response.blob();
}

const NO_CONTENT = 204;

async function send({ method, url, body }: Question<unknown>, key: string, signal: AbortSignal): Promise<Response> {
  const headers = { accept: "application/json", ...(key === "" ? {} : { key }) };
  const posted = body === undefined ? {} : { method: "POST", body };
  const chosen = method === undefined ? {} : { method };
  try {
    return await fetch(`${BASE}${url}`, { ...posted, ...chosen, headers, signal });
  } catch (error) {
    throw new ApiFailure(0, error instanceof Error ? error.message : "");
  }
}

function messageIn(body: unknown): string {
  const hasMessage = typeof body === "object" && body !== null && "message" in body;
  return hasMessage && typeof body.message === "string" ? body.message : "";
}
