import { mkdtemp, rm } from "node:fs/promises";
import { type Agent, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { closeHttpApp, listenHttpApp, portOf } from "@noisefloor/http/server/listen.ts";
import { createTlsServer } from "@noisefloor/http/server/tls.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { expect } from "vitest";
import { makeCertificate, writeCertificate } from "../servers/certificates.ts";
import { makeApp } from "../worlds/http.ts";
import type { World } from "../worlds/world.ts";

/** How often the server checks whether the files of its certificate have changed. */
export const CERTIFICATE_CHECK_MS = 200;

export type HttpResponse = { status: number | undefined; headers: Record<string, unknown>; body: unknown };

/** The query interface of a world over HTTP and HTTPS, with a certificate for the name "first". */
export type TlsWorld = {
  readonly app: FastifyInstance;
  /** Has the certificate, its key and nothing else. */
  readonly folder: string;
  readonly files: { readonly certFile: string; readonly keyFile: string };
  readonly httpPort: number;
  readonly httpsPort: number;
  /** @returns everything logged so far. */
  log(): string;
  /** Without an agent every request opens its own connection. */
  get(scheme: "http" | "https", path: string, agent?: Agent): Promise<HttpResponse>;
  /** @returns a connection whose handshake is finished. */
  handshake(options?: ConnectionOptions): Promise<TLSSocket>;
  /** @returns the name in the certificate that a new connection gets. */
  servedName(): Promise<string>;
  /** Ends both servers. Calling it again does nothing. */
  shutDown(): Promise<void>;
  close(): Promise<void>;
};

export async function openTlsWorld(world: World): Promise<TlsWorld> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-tls-"));
  const files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  await writeCertificate(files, await makeCertificate("first"));
  const app = await makeApp(QUERY_OPERATIONS, world.register);
  app.get("/protocol", async (request) => ({ protocol: request.protocol }));
  let logged = "";
  const write = (line: string) => {
    logged += line;
  };
  const log = pino({ level: "trace" }, { write });
  const https = await createTlsServer(app, { files, log, intervalMs: CERTIFICATE_CHECK_MS });
  const endpoint = { server: https, port: 0, portVariable: "HTTPS_PORT" };
  await listenHttpApp(app, { host: "127.0.0.1", port: 0 }, [endpoint]);
  const [httpPort, httpsPort] = [portOf(app.server), portOf(https)];
  const handshake = (options: ConnectionOptions = {}) => openTlsConnection({ port: httpsPort, ...options });
  const shutDown = () => closeHttpApp(app, [https]);
  return {
    app,
    folder,
    files,
    httpPort,
    httpsPort,
    log: () => logged,
    get: (scheme, path, agent) => getJson(scheme, scheme === "http" ? httpPort : httpsPort, path, agent),
    handshake,
    async servedName() {
      const socket = await handshake();
      const name = socket.getPeerCertificate().subject.CN;
      socket.destroy();
      return String(name);
    },
    shutDown,
    async close() {
      expect(logged, "key material in the log").not.toMatch(/PRIVATE KEY|BEGIN/);
      await shutDown();
      await rm(folder, { recursive: true });
    },
  };
}

function getJson(scheme: "http" | "https", port: number, path: string, agent?: Agent): Promise<HttpResponse> {
  return new Promise((settle, fail) => {
    const send = scheme === "http" ? httpRequest : httpsRequest;
    const options = { host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: agent ?? false };
    const request = send(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        settle({ status: response.statusCode, headers: { ...response.headers }, body: JSON.parse(text) }),
      );
    });
    request.once("error", fail).end();
  });
}

function openTlsConnection(options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((settle, fail) => {
    const socket = connect({ host: "127.0.0.1", rejectUnauthorized: false, ...options }, () => settle(socket));
    socket.once("error", fail);
  });
}
