/** Why there is no answer. */
export class ApiFailure extends Error {
  override name = "ApiFailure";
  /** The status of the answer, 0 when none came. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A failure in words: what happened, and what to do. */
export type Explanation = { readonly title: string; readonly remedy: string };

const EXPLANATIONS: Readonly<Record<number, Explanation>> = {
  0: { title: "The service cannot be reached", remedy: "Check that it runs and that you are online, then try again." },
  400: { title: "The service does not accept this question", remedy: "Change what you asked for." },
  401: {
    title: "The service does not know this key",
    remedy: "It may be mistyped or revoked. Enter another one with the button Key at the top, or forget it there.",
  },
  403: {
    title: "You may not see this",
    remedy:
      "Ask without datasets, or enter a key with the button Key at the top, of a workspace that has the entitlement.",
  },
  404: { title: "There is nothing here", remedy: "Check the address of this page." },
  429: {
    title: "Too few lookups are left for today",
    remedy: "Come back after midnight UTC, or enter a key of a plan with more with the button Key at the top.",
  },
  503: {
    title: "The service is overloaded, or its database does not answer",
    remedy: "Wait a moment, then try again.",
  },
};
const UNEXPECTED: Explanation = { title: "The service failed", remedy: "Try again. Its log says what happened." };

export function explain(status: number): Explanation {
  return EXPLANATIONS[status] ?? UNEXPECTED;
}
