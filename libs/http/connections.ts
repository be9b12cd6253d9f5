import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** How long connections may take to end by themselves when we want them to. */
const CLOSE_GRACE_MS = 5_000;

/** What goes wrong on a connection before there is a request to answer. */
const ERRORS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The request header is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request took too long to arrive: send it again"],
};

/** The answers under way on each connection: a client may send requests without waiting for their answers. */
const underWay = new WeakMap<Socket, Set<ServerResponse>>();
/** Connections of which nothing more is read: they end with the answers that are under way. */
const ending = new WeakSet<Socket>();

/** To be called for each request as soon as it is there, so that nothing else is written into the midst of its answer. */
export function trackAnswer(response: ServerResponse): void {
  const { socket } = response.req;
  const answers = underWay.get(socket) ?? new Set();
  underWay.set(socket, answers.add(response));
  response.once("close", () => answers.delete(response));
}

/**
 * Answers in JSON where no request could be made out of what came; drops a connection that itself is broken. Requests
 * that came whole before it on the same connection get their answers, and then it ends without a further one: their
 * client could not tell whose it is.
 */
export function answerConnectionError(error: { readonly code?: string | undefined }, socket: Socket): void {
  const { code = "" } = error;
  // Anything else is not about HTTP (a reset, a TLS handshake that failed): there is nobody to speak HTTP to.
  if (!/^(HPE|ERR_HTTP)_/.test(code)) {
    socket.destroy();
    return;
  }
  if (!socket.writable || ending.has(socket)) return;
  const answers = [...(underWay.get(socket) ?? [])];
  // A request that is not complete is the very one that is broken: nothing will come of it.
  const awaited = answers.filter(({ req }) => req.complete);
  if (awaited.length > 0) {
    ending.add(socket);
    const closed = awaited.map((answer) => new Promise<void>((settle) => answer.once("close", settle)));
    void Promise.all(closed).then(() => end(socket));
    return;
  }
  if (answers.some(({ headersSent }) => headersSent)) {
    end(socket);
    return;
  }
  const [status, message] = ERRORS[code] ?? ["400 Bad Request", "Malformed HTTP request"];
  const body = JSON.stringify({ message });
  end(
    socket,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function end(socket: Socket, lastWords = ""): void {
  ending.add(socket);
  socket.end(lastWords);
  // The other end may never close its side, and the server no longer counts this connection among those it can cut.
  setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();
}

/** A server beside the application's own that serves the same application. */
export type FurtherServer = {
  /** Resolves to the port, once connections are taken. To be called when the application is ready. */
  listen(host: string, port: number): Promise<number>;
  /** Takes no new connections; resolves when the last one has ended. */
  close(): Promise<void>;
  closeAllConnections(): void;
};

/** Takes connections on all ports or, when one of them cannot be had, on none. Resolves to the further server's port. */
export async function listenHttpApp(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  further?: { readonly server: FurtherServer; readonly port: number },
): Promise<number | undefined> {
  try {
    await app.listen({ host, port });
    return await further?.server.listen(host, further.port);
  } catch (error) {
    await closeHttpApp(app, further?.server);
    throw error;
  }
}

/**
 * Takes nothing new and waits for the answers under way. A request that is only half sent is cut off after a grace
 * time: one stalled client must not keep the process from stopping.
 */
export async function closeHttpApp(app: FastifyInstance, further?: FurtherServer): Promise<void> {
  const cutter = setTimeout(() => {
    app.server.closeAllConnections();
    further?.closeAllConnections();
  }, CLOSE_GRACE_MS);
  try {
    await Promise.all([app.close(), further?.close()]);
  } finally {
    clearTimeout(cutter);
  }
}
