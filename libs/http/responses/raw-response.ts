import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { NO_CACHE_LINES } from "./cache-headers.ts";

/**
 * Writes an error response onto a connection that has no request to reply to, and ends it.
 * @param closeMs when to close it if the client does not: closing immediately, with bytes unread, would reset it,
 * and the client might never see the response.
 */
export function endWithError(socket: Socket, status: number, body: object, closeMs: number): void {
  const json = JSON.stringify(body);
  endWithin(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n${NO_CACHE_LINES}\r\n${json}`,
    closeMs,
  );
}

/** Writes the last bytes onto a connection, ends it, and closes it after a while if the client does not. */
export function endWithin(socket: Socket, lastBytes: string, closeMs: number): void {
  socket.end(lastBytes);
  // A server that closes no longer counts this connection among those it can cut.
  const timer = setTimeout(() => socket.destroy(), closeMs).unref();
  socket.once("close", () => clearTimeout(timer));
}
