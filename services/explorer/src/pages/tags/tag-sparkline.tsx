import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../api/ask.ts";
import { bucketsOf } from "../../api/buckets.ts";
import { useKey } from "../../api/kept-key.ts";
import { activityOf } from "../../api/questions.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { visible } from "../../text/hostile.tsx";
import { createQueue } from "./queue.ts";

const DAYS = { days: 7, granularity: "4h" };
/** Each is a request of its own: more in parallel would take the caller's share from the rest of the page. */
const enqueue = createQueue(2);

type TagSparklineProps = { readonly id: string; readonly name: string; readonly isActive: boolean };

/** The last week of a tag, or as much of it as the caller's plan shows; asked for when the row comes into view. */
export function TagSparkline({ id, name, isActive }: TagSparklineProps) {
  const element = useRef<HTMLSpanElement>(null);
  const { key } = useKey();
  const [values, setValues] = useState<readonly number[]>();
  useEffect(() => {
    if (!isActive || element.current === null) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      observer.disconnect();
      // A row without a picture still has its numbers, and the page says why when all fail.
      enqueue(async () => {
        if (signal.aborted) return;
        const activity = await ask(activityOf(id, DAYS), key, signal);
        setValues(bucketsOf(activity).map(({ active_ips: count }) => count));
      }).catch(() => {});
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      controller.abort();
    };
  }, [id, key, isActive]);
  return (
    <span ref={element} class="sparkline-place">
      {values === undefined ? null : <Sparkline values={values} label={`Addresses of ${visible(name)} lately`} />}
    </span>
  );
}
