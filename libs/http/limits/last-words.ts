import type { Socket } from "node:net";
import { NO_CACHE_LINES } from "../cache-headers.ts";
import type { HttpError } from "../errors.ts";

const REASON_PHRASES: Readonly<Record<number, string>> = { 429: "Too Many Requests", 503: "Service Unavailable" };
/** Closed at once with bytes unread, a connection is reset and its client may never see the answer. */
const CLOSE_GRACE_MS = 1_000;

/** Answers on a connection for which no request will be worked on, and ends it. */
export function endWith(socket: Socket, { status, body }: HttpError): void {
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${REASON_PHRASES[status] ?? "Error"}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n${NO_CACHE_LINES}\r\n${text}`,
  );
  const timer = setTimeout(() => socket.destroy(), CLOSE_GRACE_MS);
  socket.once("close", () => clearTimeout(timer));
}
