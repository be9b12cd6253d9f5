import type { Server as HttpsServer } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { socketsOf } from "../responses/connections.ts";
import { completeRequests } from "../responses/pending-responses.ts";

/** How long connections without a response due may stay open during a shutdown. */
const CLOSE_GRACE_MS = 5_000;
/** How long responses that are due may take during a shutdown; a process supervisor must wait a little longer. */
const DRAIN_TIMEOUT_MS = 30_000;
const CUT_INTERVAL_MS = 250;

/** A port cannot be listened on; the message names the setting to change. */
export class ListenError extends Error {
  override name = "ListenError";
}

export type Endpoint = {
  readonly host: string;
  readonly port: number;
  /** The environment variable that sets the port. */
  readonly portVariable: string;
};

/** The message for the user, by the system's error code. */
const LISTEN_ERRORS: Readonly<Record<string, (endpoint: Endpoint) => string>> = {
  EADDRINUSE: ({ host, port, portVariable }) =>
    `${portVariable}: another process listens on port ${port} of ${host} already`,
  EADDRNOTAVAIL: ({ host }) => `HTTP_HOST: this machine has no address ${host}`,
  EACCES: ({ host, port, portVariable }) =>
    `${portVariable}: this user may not listen on port ${port} of ${host}; ports from 1024 usually need no right`,
};

/** What to throw instead of the system's error: a {@link ListenError} when a change of the settings helps. */
export function toListenError(error: unknown, endpoint: Endpoint): unknown {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const describe = LISTEN_ERRORS[code];
  return describe === undefined ? error : new ListenError(describe(endpoint), { cause: error });
}

/** Before anything is prepared for a service that could not listen. @throws ListenError */
export async function assertFree(endpoint: Endpoint): Promise<void> {
  const server = createServer();
  await listen(server, endpoint.host, endpoint.port).catch((error: unknown) => {
    throw toListenError(error, endpoint);
  });
  await closeServer(server);
}

/** A server beside the application's own, and where it listens. */
export type TlsEndpoint = {
  readonly server: HttpsServer;
  readonly port: number;
  /** The environment variable that sets the port. */
  readonly portVariable: string;
};

/**
 * Listens on all ports or, when one of them cannot be had, on none.
 * @throws ListenError when a change of the settings helps.
 */
export async function listenHttpApp(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  tls: readonly TlsEndpoint[] = [],
): Promise<void> {
  const servers = tls.map(({ server }) => server);
  try {
    await app.listen({ host, port }).catch((error: unknown) => {
      throw toListenError(error, { host, port, portVariable: "HTTP_PORT" });
    });
    for (const { server, port, portVariable } of tls) {
      await listen(server, host, port).catch((error: unknown) => {
        throw toListenError(error, { host, port, portVariable });
      });
    }
  } catch (error) {
    await closeHttpApp(app, servers);
    throw error;
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((settle, fail) => {
    server.once("error", fail);
    server.listen(port, host, () => {
      server.removeListener("error", fail);
      settle();
    });
  });
}

/** The port that a server listens on, which the system chose if the given one was 0. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}

/** A TLS connection and the plain one below it are two sockets with one peer. */
const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

/**
 * Accepts no new connections and waits for the responses that are due. Other connections are cut after a short grace
 * period, for one stalled client must not keep the process from stopping; those with a response due after a long one,
 * for a sensor that gets no response sends its observations again.
 */
export async function closeHttpApp(app: FastifyInstance, tls: readonly HttpsServer[] = []): Promise<void> {
  const servers = [app.server, ...tls];
  const start = Date.now();
  const cut = () => {
    const elapsed = Date.now() - start;
    // Connections that became idle since the close began.
    for (const server of servers) server.closeIdleConnections();
    if (elapsed < CLOSE_GRACE_MS) return;
    const awaiting = new Set(completeRequests().map(({ socket }) => peerOf(socket)));
    for (const socket of servers.flatMap((server) => [...socketsOf(server)])) {
      if (elapsed >= DRAIN_TIMEOUT_MS || !awaiting.has(peerOf(socket))) socket.destroy();
    }
  };
  const timer = setInterval(cut, CUT_INTERVAL_MS);
  try {
    await Promise.all([app.close(), ...tls.map(closeServer)]);
  } finally {
    clearInterval(timer);
  }
}

/** Resolves when the last connection has ended. An error would only say that the server never listened. */
function closeServer(server: Pick<Server, "close">): Promise<void> {
  return new Promise((settle) => server.close(() => settle()));
}
