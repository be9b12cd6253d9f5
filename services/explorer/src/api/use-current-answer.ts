import { useEffect, useState } from "preact/hooks";
import { ask } from "./ask.ts";
import { useKey } from "./kept-key.ts";
import type { Question } from "./questions.ts";
import { type Loading, useAnswer } from "./use-answer.ts";

const EVERY_MS = 5_000;

/** An answer that stays current: asked again and again while its page is seen. */
export function useCurrentAnswer<Answer>(question: Question<Answer>): Loading<Answer> {
  const { key } = useKey();
  const answer = useAnswer(question);
  const [current, setCurrent] = useState<Answer>();
  useEffect(() => setCurrent(undefined), [answer.data]);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setInterval(() => {
      // One that fails is followed by the next.
      if (!document.hidden) ask(question, key, controller.signal).then(setCurrent, () => {});
    }, EVERY_MS);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [question.url, key]);
  return { ...answer, data: answer.failure === undefined ? (current ?? answer.data) : undefined };
}
