import type { ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { NO_CACHE_LINES } from "./cache-headers.ts";

/** How long connections may take to end by themselves when we want them to. */
const CLOSE_GRACE_MS = 5_000;
/** How long answers under way may take when we want to stop; what runs us must wait a little longer. */
const ANSWER_GRACE_MS = 30_000;
const CUT_INTERVAL_MS = 250;

export const MALFORMED_REQUEST = "Malformed HTTP request";

/**
 * How a server is made that leaves refusals to the application: left to itself it answers a request without `Host` with
 * an empty 400. The application must be its `checkExpectation` listener too: else an `Expect` that nobody knows is an
 * empty 417, though HTTP allows to pass over it.
 */
export const REFUSES_IN_JSON = { requireHostHeader: false } as const;

/** What goes wrong on a connection before there is a request to answer. */
const ERRORS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The request header is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request took too long to arrive: send it again"],
};

/** The answers under way; one connection may wait for several, for a client need not wait before it sends more. */
const underWay = new Set<ServerResponse>();
/** The same by connection. */
const answersOf = new WeakMap<Socket, Set<ServerResponse>>();
/** Connections of which nothing more is read: they end with the answers that are under way. */
const ending = new WeakSet<Socket>();

/** To be called for each request as soon as it is there: its answer must neither be written into nor be cut off. */
export function trackAnswer(response: ServerResponse): void {
  const { socket } = response.req;
  const ofSocket = answersOf.get(socket) ?? trackConnection(socket);
  underWay.add(response);
  ofSocket.add(response);
  response.once("close", () => {
    underWay.delete(response);
    ofSocket.delete(response);
  });
}

/** With a connection Node closes the answer whose turn it is, but none behind it: what those hold would never be let go. */
function trackConnection(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  answersOf.set(socket, answers);
  socket.once("close", () => {
    for (const answer of answers) {
      if (answer.socket === socket) continue;
      answer.destroy();
      answer.emit("close");
    }
  });
  return answers;
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
  const answers = [...underWay].filter(({ req }) => req.socket === socket);
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
  const [status, message] = ERRORS[code] ?? ["400 Bad Request", MALFORMED_REQUEST];
  const body = JSON.stringify({ message });
  end(
    socket,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n${NO_CACHE_LINES}\r\n${body}`,
  );
}

function end(socket: Socket, lastWords = ""): void {
  ending.add(socket);
  socket.end(lastWords);
  // The other end may never close its side, and the server no longer counts this connection among those it can cut.
  setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();
}

/** A port cannot be listened on: the message names the variable to change. */
export class ListenError extends Error {
  override name = "ListenError";
}

type Endpoint = {
  readonly host: string;
  readonly port: number;
  /** The variable that sets the port. */
  readonly portVariable: string;
};

/** What the system says of an address that it does not let us listen on, by its code. */
const LISTEN_REFUSALS: Readonly<Record<string, (endpoint: Endpoint) => string>> = {
  EADDRINUSE: ({ host, port, portVariable }) =>
    `${portVariable}: another process listens on port ${port} of ${host} already`,
  EADDRNOTAVAIL: ({ host }) => `HTTP_HOST: this machine has no address ${host}`,
  EACCES: ({ host, port, portVariable }) =>
    `${portVariable}: this user may not listen on port ${port} of ${host}; ports from 1024 usually need no right`,
};

function refusalToListen(error: unknown, endpoint: Endpoint): unknown {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const describe = LISTEN_REFUSALS[code];
  return describe === undefined ? error : new ListenError(describe(endpoint), { cause: error });
}

/** A server beside the application's own that serves the same application. */
export type FurtherServer = {
  /** Resolves to the port, once connections are taken. To be called when the application is ready. */
  listen(host: string, port: number): Promise<number>;
  /** Takes no new connections; resolves when the last one has ended. */
  close(): Promise<void>;
  /** Ends connections that are open for a next request. */
  closeIdleConnections(): void;
  /** Those that are open, before and after their handshake. */
  readonly sockets: ReadonlySet<Socket>;
};

/** The connections of a server, as long as each is open. */
export function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

declare module "fastify" {
  interface FastifyInstance {
    /** The open connections of the application's own server. */
    sockets: ReadonlySet<Socket>;
  }
}

/** A TLS connection and the one below it are two sockets, but have one other end. */
const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

/**
 * Takes connections on all ports or, when one of them cannot be had, on none. Resolves to the further server's port.
 * @throws ListenError when it is for the settings to say otherwise.
 */
export async function listenHttpApp(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  further?: { readonly server: FurtherServer; readonly port: number },
): Promise<number | undefined> {
  try {
    await app.listen({ host, port }).catch((error: unknown) => {
      throw refusalToListen(error, { host, port, portVariable: "HTTP_PORT" });
    });
    return await further?.server.listen(host, further.port).catch((error: unknown) => {
      throw refusalToListen(error, { host, port: further.port, portVariable: "HTTPS_PORT" });
    });
  } catch (error) {
    await closeHttpApp(app, further?.server);
    throw error;
  }
}

/**
 * Takes nothing new and waits for the answers under way. Connections on which nobody waits for one are cut after a short
 * grace time, for one stalled client must not keep the process from stopping; all others after a long one: whoever sent
 * observations and got no answer sends them again.
 */
export async function closeHttpApp(app: FastifyInstance, further?: FurtherServer): Promise<void> {
  const start = Date.now();
  const cut = () => {
    const passed = Date.now() - start;
    // Those that became idle since, which are open for further requests.
    app.server.closeIdleConnections();
    further?.closeIdleConnections();
    if (passed < CLOSE_GRACE_MS) return;
    // Of a request that has not arrived as a whole nobody can tell whether it ever will.
    const waiting = new Set([...underWay].filter(({ req }) => req.complete).map(({ req }) => peerOf(req.socket)));
    for (const socket of [...app.sockets, ...(further?.sockets ?? [])]) {
      if (passed >= ANSWER_GRACE_MS || !waiting.has(peerOf(socket))) socket.destroy();
    }
  };
  const timer = setInterval(cut, CUT_INTERVAL_MS);
  try {
    await Promise.all([app.close(), further?.close()]);
  } finally {
    clearInterval(timer);
  }
}
