import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** How long connections may take to end by themselves when we want them to. */
const CLOSE_GRACE_MS = 5_000;

/** What goes wrong on a connection before there is a request to answer. */
const ERRORS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The request header is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request took too long to arrive: send it again"],
};

/** Answers in JSON where no request could be made out of what came; drops a connection that itself is broken. */
export function answerConnectionError(error: { readonly code?: string | undefined }, socket: Socket): void {
  const { code = "" } = error;
  // Anything else is not about HTTP (a reset, a TLS handshake that failed): there is nobody to speak HTTP to.
  if (!/^(HPE|ERR_HTTP)_/.test(code)) {
    socket.destroy();
    return;
  }
  if (!socket.writable) return;
  const [status, message] = ERRORS[code] ?? ["400 Bad Request", "Malformed HTTP request"];
  const body = JSON.stringify({ message });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
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
  closeAllConnections(): void;
};

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
