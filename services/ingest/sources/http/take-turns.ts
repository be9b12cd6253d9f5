import { createMutex, type Lock } from "../../mutex.ts";

type Queue = { readonly lock: Lock; waiting: number };

/** Runs work for a sender once its work before is done. @throws the signal's reason when it aborts first. */
export type Turns = <T>(sender: string, signal: AbortSignal | undefined, work: () => Promise<T>) => Promise<T>;

/**
 * Work that takes a whole thread: a sender has one share of it, however many requests it sends side by side. Senders
 * who each do one thing at a time get equal shares.
 */
export function takeTurns(): Turns {
  const queues = new Map<string, Queue>();
  return async (sender, signal, work) => {
    const queue = queues.get(sender) ?? { lock: createMutex(), waiting: 0 };
    queues.set(sender, queue);
    queue.waiting++;
    try {
      const unlock = await queue.lock(signal);
      try {
        return await work();
      } finally {
        unlock();
      }
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) queues.delete(sender);
    }
  };
}
