import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { OnRejected } from "./rejections.ts";

/** A client that waits for bytes must take at least so many in that time. */
export type ReadingPace = { readonly bytes: number; readonly withinMs: number };

type Progress = { since: number; taken: number };

/**
 * Cuts connections whose client does not read its answer, or hardly does: what it was sent would lie in memory for as long
 * as it likes.
 */
export function cutStalledReaders(app: FastifyInstance, pace: ReadingPace, onRejected: OnRejected): void {
  const watched = new Map<Socket, Progress>();
  app.addHook("onRequest", async ({ raw: { socket } }) => {
    if (watched.has(socket)) return;
    watched.set(socket, { since: performance.now(), taken: 0 });
    socket.once("close", () => watched.delete(socket));
  });
  const look = () => {
    const now = performance.now();
    for (const [socket, progress] of watched) {
      // What the system has taken of what we wrote.
      const taken = socket.bytesWritten - socket.writableLength;
      const isAwaiting = socket.writableLength > 0;
      if (!isAwaiting || taken - progress.taken >= pace.bytes) {
        progress.since = now;
        progress.taken = taken;
      } else if (now - progress.since > pace.withinMs) {
        onRejected("stalled_reader");
        socket.destroy();
      }
    }
  };
  const timer = setInterval(look, pace.withinMs / 10);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));
}
