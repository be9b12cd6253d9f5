/** A message, and the address that sent it. */
export type Message = { readonly bytes: Buffer; readonly sender: string };

/** What is stored together. */
const MAX_BATCH_MESSAGES = 10_000;

/** Messages that wait to be stored, of some bytes at most. */
export type MessageQueue = {
  /** @returns false when it is full: the message is not in it. */
  offer(message: Message): boolean;
  /** Waits for room for the message. */
  put(message: Message): Promise<void>;
  /** Resolves when all that is in it is stored. */
  drained(): Promise<void>;
};

/** @param store stores messages, and never rejects. While it does, others gather for the next time. */
export function openQueue(maxBytes: number, store: (messages: readonly Message[]) => Promise<void>): MessageQueue {
  let waiting: Message[] = [];
  let bytes = 0;
  let running: Promise<void> | undefined;
  let onRoom: (() => void)[] = [];

  const run = async () => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH_MESSAGES);
      waiting = waiting.slice(MAX_BATCH_MESSAGES);
      bytes = waiting.reduce((sum, message) => sum + message.bytes.length, 0);
      const waiters = onRoom;
      onRoom = [];
      for (const wake of waiters) wake();
      await store(batch);
    }
    running = undefined;
  };
  const offer = (message: Message) => {
    if (bytes > 0 && bytes + message.bytes.length > maxBytes) return false;
    waiting.push(message);
    bytes += message.bytes.length;
    // After this turn, so that what comes in one piece is stored together.
    running ??= Promise.resolve().then(run);
    return true;
  };
  return {
    offer,
    async put(message) {
      while (!offer(message)) await new Promise<void>((wake) => onRoom.push(wake));
    },
    drained: async () => running,
  };
}
