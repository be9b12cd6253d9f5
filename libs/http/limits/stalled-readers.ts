import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { OnRejected } from "./rejections.ts";

/** The fewest bytes that a client must read within a time while bytes wait for it. */
export type ReadingPace = { readonly bytes: number; readonly withinMs: number };

type Progress = { since: number; read: number };

/**
 * Closes connections whose client does not read its response, or hardly does: what it has not read fills memory.
 * @returns what to call with the connection of each request.
 */
export function cutStalledReaders(
  app: FastifyInstance,
  pace: ReadingPace,
  onRejected: OnRejected,
): (socket: Socket) => void {
  const readers = new Map<Socket, Progress>();
  const check = () => {
    const now = performance.now();
    for (const [socket, progress] of readers) {
      // What the operating system has accepted, which is as close as we can see.
      const read = socket.bytesWritten - socket.writableLength;
      const isAwaiting = socket.writableLength > 0;
      if (!isAwaiting || read - progress.read >= pace.bytes) {
        progress.since = now;
        progress.read = read;
      } else if (now - progress.since > pace.withinMs) {
        onRejected("stalled_reader");
        socket.destroy();
      }
    }
  };
  const timer = setInterval(check, pace.withinMs / 10);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));
  return (socket) => {
    if (readers.has(socket)) return;
    readers.set(socket, { since: performance.now(), read: 0 });
    socket.once("close", () => readers.delete(socket));
  };
}
