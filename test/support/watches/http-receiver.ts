import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Server as NetServer, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Certificate } from "../servers/certificates.ts";

export type Received = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type HttpReceiver = {
  readonly url: string;
  readonly port: number;
  /** All requests that it read, also those that it answered with an error. */
  readonly received: Received[];
};

/** Answers with a status, or with what a function does with the response. */
export type Answer = number | ((response: ServerResponse) => void);

/** A real server to which events are delivered. @param answer to the request with this number, from 0. */
export async function startHttpReceiver(
  answer: (request: Received, number: number) => Answer = () => 204,
  certificate?: Certificate,
): Promise<HttpReceiver> {
  const received: Received[] = [];
  const server: Server = certificate === undefined ? createServer() : createTlsServer(certificate);
  server.on("request", async (request, response) => {
    const { method = "", url = "", headers } = request;
    const each = { method, path: url, headers, body: await text(request) };
    received.push(each);
    const answered = answer(each, received.length - 1);
    if (typeof answered === "number") response.writeHead(answered).end();
    else answered(response);
  });
  const port = await listen(server);
  return { url: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${port}/hook`, port, received };
}

/** Listens on a free port until the test ends, which breaks all connections. @returns the port. */
export async function listen(server: NetServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
