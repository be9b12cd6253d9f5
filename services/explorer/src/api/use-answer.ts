import { useEffect, useState } from "preact/hooks";
import { ask } from "./ask.ts";
import { ApiFailure } from "./failure.ts";
import { refuseKey, useKey } from "./kept-key.ts";
import type { Question } from "./questions.ts";

/** What is known of an answer. While the next one loads, the last one stays. */
export type Loading<Answer> = {
  readonly data: Answer | undefined;
  readonly failure: ApiFailure | undefined;
  readonly isLoading: boolean;
  retry(): void;
};

/** Asks when the question or the key changes. @param question undefined: asks nothing yet. */
export function useAnswer<Answer>(question: Question<Answer> | undefined): Loading<Answer> {
  const { key } = useKey();
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<Omit<Loading<Answer>, "retry">>(NOTHING);
  useEffect(() => {
    if (question === undefined) return undefined;
    const controller = new AbortController();
    setState(({ data }) => ({ data, failure: undefined, isLoading: true }));
    ask(question, key, controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, failure: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const failure = error instanceof ApiFailure ? error : new ApiFailure(500, String(error));
        if (failure.status === 401) refuseKey(key);
        setState({ data: undefined, failure, isLoading: false });
      },
    );
    return () => controller.abort();
  }, [question?.url, question?.body, key, attempt]);
  return { ...state, retry: () => setAttempt((count) => count + 1) };
}

const NOTHING = { data: undefined, failure: undefined, isLoading: true };
