import { answerSchema, type LoadResult, type Order } from "./protocol.ts";
import { startScript } from "./script.ts";

/** Plays loads, one at a time. */
export type LoadClient = {
  /** Rejects when a connection breaks, or an answer has another status than these. */
  play(order: Order, statuses: readonly number[]): Promise<LoadResult>;
  close(): Promise<void>;
};

export function startLoadClient(): LoadClient {
  const script = startScript(new URL("callers.ts", import.meta.url));
  return {
    async play(order, statuses) {
      const answer = answerSchema.parse(await script.ask(order));
      if ("error" in answer) throw new Error(`the load ended: ${answer.error}`);
      const unexpected = Object.entries(answer.statuses).filter(([status]) => !statuses.includes(Number(status)));
      if (unexpected.length > 0) throw new Error(`answered with ${JSON.stringify(answer.statuses)}`);
      return answer;
    },
    close: script.close,
  };
}
