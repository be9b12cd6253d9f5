import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { OnRejected } from "./rejections.ts";

/** The fewest bytes that a client must read within a time while bytes wait for it. */
export type ReadingPace = { readonly bytes: number; readonly withinMs: number };

type Progress = { since: number; read: number };

/** Closes connections whose client does not read its response, or hardly does: what it has not read fills memory. */
export function cutStalledReaders(app: FastifyInstance, pace: ReadingPace, onRejected: OnRejected): void {
  const watched = new Map<Socket, Progress>();
  app.addHook("onRequest", async ({ raw: { socket } }) => {
    if (watched.has(socket)) return;
    watched.set(socket, { since: performance.now(), read: 0 });
    socket.once("close", () => watched.delete(socket));
  });
  const check = () => {
    const now = performance.now();
    for (const [socket, progress] of watched) {
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
}
