import type { Server, Socket } from "node:net";
import { pendingResponses } from "./pending-responses.ts";
import { endWithError, endWithin } from "./raw-response.ts";

/** How long a connection that we end may take to close. */
const CLOSE_GRACE_MS = 5_000;

export const MALFORMED_REQUEST = "Malformed HTTP request";

/**
 * Server options that leave error responses to the application: Node itself answers a request without `Host` with an
 * empty 400. The application must also handle `checkExpectation`: Node itself answers an unknown `Expect` with an empty
 * 417, though HTTP allows to ignore it.
 */
export const JSON_ERRORS_ONLY = { requireHostHeader: false } as const;

/** Errors on a connection that has no request to reply to. */
const PARSE_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "The request header is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request took too long to arrive: send it again"],
};

/** Connections that end after their pending responses, and from which nothing more is read. */
const ending = new WeakSet<Socket>();

/**
 * Fastify's `clientErrorHandler`: sends a JSON error where the bytes received are no request, and closes a connection
 * that is itself broken. Complete requests before them on the same connection get their responses, and then it ends
 * without an error response: the client could not know to which request it belongs.
 */
export function handleClientError(error: { readonly code?: string | undefined }, socket: Socket): void {
  const { code = "" } = error;
  // Not an HTTP error (a reset, a failed TLS handshake): the client cannot read a response.
  if (!/^(HPE|ERR_HTTP)_/.test(code)) {
    socket.destroy();
    return;
  }
  if (!socket.writable || ending.has(socket)) return;
  ending.add(socket);
  const responses = pendingResponses(socket);
  // An incomplete request is the malformed one itself.
  const due = responses.filter(({ req }) => req.complete);
  if (due.length > 0) {
    const closed = due.map((response) => new Promise<void>((settle) => response.once("close", settle)));
    void Promise.all(closed).then(() => endWithin(socket, "", CLOSE_GRACE_MS));
  } else if (responses.some(({ headersSent }) => headersSent)) {
    endWithin(socket, "", CLOSE_GRACE_MS);
  } else {
    const [status, message] = PARSE_ERRORS[code] ?? [400, MALFORMED_REQUEST];
    endWithError(socket, status, { message }, CLOSE_GRACE_MS);
  }
}

const socketsByServer = new WeakMap<Server, Set<Socket>>();

/** Call it before the server listens; {@link socketsOf} then returns its open connections. */
export function trackSockets(server: Server): void {
  const sockets = new Set<Socket>();
  socketsByServer.set(server, sockets);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
}

/** A server's open connections; of TLS connections the plain sockets below, from before the handshake on. */
export function socketsOf(server: Server): Iterable<Socket> {
  return socketsByServer.get(server) ?? [];
}
