import { useEffect, useRef, useState } from "preact/hooks";

/** How long the keys rest before a text is searched, and before its errors are shown: half-typed queries have many. */
const SEARCHED_AFTER_MS = 150;
const SETTLED_AFTER_MS = 1_000;

export type Typed = {
  readonly text: string;
  /** False while its reader may still be writing it. */
  readonly isSettled: boolean;
};

/**
 * The text of a field while its reader types: the last one that stood still for a moment.
 * @param query what was searched last. Another one replaces what was typed.
 */
export function useTyped(query: string): Typed & { onType(text: string): void } {
  const [typed, setTyped] = useState<Typed>();
  const timers = useRef<readonly number[]>([]);
  const stop = () => timers.current.forEach(clearTimeout);
  useEffect(
    () => () => {
      stop();
      setTyped(undefined);
    },
    [query],
  );
  const onType = (text: string) => {
    stop();
    timers.current = [
      window.setTimeout(() => setTyped({ text, isSettled: false }), SEARCHED_AFTER_MS),
      window.setTimeout(() => setTyped({ text, isSettled: true }), SETTLED_AFTER_MS),
    ];
  };
  return { ...(typed ?? { text: query, isSettled: true }), onType };
}
