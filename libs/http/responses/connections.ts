import type { ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
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

/** The member of a response that has what is due once it closes. */
const DUE = Symbol("due once the response closes");

declare module "node:http" {
  interface ServerResponse {
    /** Undefined when nothing tracks the response, and once it has closed. */
    [DUE]?: (() => void)[] | undefined;
  }
}

/**
 * The responses of each connection that are not finished. It may have several: with pipelining a client sends requests
 * ahead.
 */
const pending = new Map<Socket, ServerResponse[]>();
/** Connections that end after their pending responses, and from which nothing more is read. */
const ending = new WeakSet<Socket>();

/** Call it first for each request: nothing may be written into its response before, and no shutdown may cut it off. */
export function trackResponse(response: ServerResponse): void {
  const { socket } = response.req;
  const ofSocket = pending.get(socket) ?? trackConnection(socket);
  ofSocket.push(response);
  response[DUE] = [];
  // `once` would make one more object. A queued response is closed by hand, and Node may close it again.
  response.on("close", () => {
    const due = response[DUE];
    if (due === undefined) return;
    response[DUE] = undefined;
    ofSocket.splice(ofSocket.indexOf(response), 1);
    for (const listener of due) listener();
  });
}

/** Calls back once the connection is done with a response. */
export function onClosed(response: ServerResponse, listener: () => void): void {
  const due = response[DUE];
  // Only a test hands a response over without a connection.
  if (due === undefined) response.once("close", listener);
  else due.push(listener);
}

/** The responses of a connection that are not finished, in the order in which they are due. */
export function pendingResponses(socket: Socket): readonly ServerResponse[] {
  return pending.get(socket) ?? [];
}

/** The open requests that have arrived completely, so that a response is due. */
export function completeRequests(): readonly ServerResponse["req"][] {
  return [...pending.values()].flatMap((ofSocket) => ofSocket.map(({ req }) => req)).filter(({ complete }) => complete);
}

/**
 * When a connection closes, Node closes its current response but none of those after it: they would leak what they
 * hold.
 */
function trackConnection(socket: Socket): ServerResponse[] {
  const responses: ServerResponse[] = [];
  pending.set(socket, responses);
  socket.once("close", () => {
    pending.delete(socket);
    for (const response of [...responses]) {
      if (response.socket === socket) continue;
      response.destroy();
      response.emit("close");
    }
  });
  return responses;
}

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
  const responses = pending.get(socket) ?? [];
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
