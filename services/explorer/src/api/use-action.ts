import { useState } from "preact/hooks";
import { ask } from "./ask.ts";
import { ApiFailure, explain } from "./failure.ts";
import { useKey } from "./kept-key.ts";
import type { Question } from "./questions.ts";

export type Action = {
  readonly isRunning: boolean;
  /** Why the last one failed; empty after a success. */
  readonly message: string;
  /** @returns undefined when it failed. */
  run<Answer>(question: Question<Answer>): Promise<Answer | undefined>;
};

/** Sends what changes something, when its reader presses a button. */
export function useAction(): Action {
  const { key } = useKey();
  const [state, setState] = useState({ isRunning: false, message: "" });
  return {
    ...state,
    async run(question) {
      setState({ isRunning: true, message: "" });
      try {
        const answer = await ask(question, key, new AbortController().signal);
        setState({ isRunning: false, message: "" });
        return answer;
      } catch (error) {
        setState({ isRunning: false, message: reasonOf(error) });
        return undefined;
      }
    },
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiFailure)) return String(error);
  const { title, remedy } = explain(error.status);
  return error.message === "" ? `${title}. ${remedy}` : error.message;
}
