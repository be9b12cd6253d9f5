import { ask } from "../api/ask.ts";
import { ApiFailure, explain } from "../api/failure.ts";
import { plansOfService } from "../api/questions.ts";

/** Asks the service whether it knows a key. @returns undefined if it does, else why the key cannot be used. */
export async function whyNot(key: string): Promise<string | undefined> {
  if (!/^[\x21-\x7e]+$/.test(key)) return "A key has no spaces and no other than ASCII characters: copy it once more.";
  try {
    await ask(plansOfService(), key, AbortSignal.timeout(30_000));
    return undefined;
  } catch (error) {
    const status = error instanceof ApiFailure ? error.status : 500;
    if (status === 401) return "The service does not know this key. It may be mistyped or revoked.";
    const { title, remedy } = explain(status);
    return `The key could not be checked: ${title}. ${remedy}`;
  }
}
