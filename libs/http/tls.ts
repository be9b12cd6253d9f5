import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { answerConnectionError, type FurtherServer, REFUSES_IN_JSON, trackSockets } from "./connections.ts";

/** Where the certificate (with its chain, leaf first) and its private key are, both in PEM form. */
export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/** The files of the certificate and the key cannot be used; its message says which and why. */
export class TlsFilesError extends Error {
  override name = "TlsFilesError";
}

/** Versions before it are broken. Said here, so that no flag of the process can lower it. */
const PROTOCOLS = { minVersion: "TLSv1.2" } as const satisfies SecureContextOptions;
/** Who connects and then says nothing holds a place for so long. */
const HANDSHAKE_TIMEOUT_MS = 20_000;

/**
 * Serves an application over HTTPS beside its own plain server, with the same limits and the same errors. The files are
 * looked at again and again: a renewed pair counts for new connections, those that are open go on.
 * They are compared by content: a watch on a file misses that the link to its folder was changed, as Kubernetes does it.
 * @throws TlsFilesError when the files cannot be used at the start. Later the last pair that could be used goes on.
 */
export async function createTlsServer(
  app: FastifyInstance,
  files: TlsFiles,
  log: Pick<FastifyBaseLogger, "info" | "warn">,
  intervalMs = 2_000,
): Promise<FurtherServer> {
  const first = await readPair(files);
  const options = { ...usable(first, files), ...REFUSES_IN_JSON, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  const server = createServer(options, app.routing);
  const { requestTimeout, headersTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket } = app.server;
  Object.assign(server, { requestTimeout, headersTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket });
  server.on("clientError", answerConnectionError);
  server.on("checkExpectation", app.routing);
  app.connectionLimit.watch(server);

  // The server itself knows only of connections whose handshake is done, yet waits for all of them when it closes.
  const sockets = trackSockets(server);

  let inUse = digest(first);
  let told = "";
  const look = async () => {
    try {
      const pair = await readPair(files);
      const found = digest(pair);
      if (found !== inUse) {
        server.setSecureContext(usable(pair, files));
        inUse = found;
        log.info(describe(pair.cert), "the TLS certificate was renewed");
      }
      told = "";
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== told) log.warn({ reason }, "the TLS files cannot be used: the last certificate goes on");
      told = reason;
    }
  };
  let timer: NodeJS.Timeout | undefined;
  let isClosing = false;
  const lookAgain = () => {
    if (isClosing) return;
    timer = setTimeout(() => void look().then(lookAgain), intervalMs);
    timer.unref();
  };
  lookAgain();

  return {
    listen: (host, port) =>
      new Promise((settle, fail) => {
        server.once("error", fail);
        server.listen(port, host, () => {
          server.removeListener("error", fail);
          const address = server.address();
          settle(address !== null && typeof address === "object" ? address.port : port);
        });
      }),
    close() {
      isClosing = true;
      clearTimeout(timer);
      // An error would only say that it never listened.
      return new Promise((settle) => server.close(() => settle()));
    },
    closeIdleConnections: () => server.closeIdleConnections(),
    sockets,
  };
}

type Pair = { readonly cert: Buffer; readonly key: Buffer };

async function readPair({ certFile, keyFile }: TlsFiles): Promise<Pair> {
  const read = (variable: string, file: string) =>
    readFile(file).catch((error: unknown) => {
      throw new TlsFilesError(`${variable}: ${reasonOf(error)}`);
    });
  const [cert, key] = await Promise.all([read("TLS_CERT_FILE", certFile), read("TLS_KEY_FILE", keyFile)]);
  return { cert, key };
}

/** A trace of the files' content: the key itself is not kept longer than it is needed. */
function digest({ cert, key }: Pair): string {
  return createHash("sha256").update(createHash("sha256").update(cert).digest()).update(key).digest("hex");
}

/** What a server needs of a pair. Throws a TlsFilesError for one that no connection could be made with. */
function usable({ cert, key }: Pair, { certFile, keyFile }: TlsFiles): SecureContextOptions {
  const certificate = attempt(() => new X509Certificate(cert), `TLS_CERT_FILE: ${certFile} holds no PEM certificate`);
  const privateKey = attempt(
    () => createPrivateKey(key),
    `TLS_KEY_FILE: ${keyFile} holds no PEM private key, or one that asks for a passphrase`,
  );
  // OpenSSL takes a certificate and a key of different kinds without a word, and then fails every handshake.
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TlsFilesError(`TLS_KEY_FILE: ${keyFile} is not the key of the certificate in TLS_CERT_FILE, ${certFile}`);
  }
  const options = { ...PROTOCOLS, cert, key };
  attempt(() => createSecureContext(options), `TLS_CERT_FILE: ${certFile} cannot be served`);
  return options;
}

function attempt<T>(action: () => T, otherwise: string): T {
  try {
    return action();
  } catch (error) {
    throw new TlsFilesError(`${otherwise} (${reasonOf(error)})`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What may be told of a certificate. */
function describe(cert: Buffer) {
  const { subject, validTo, fingerprint256 } = new X509Certificate(cert);
  return { subject, validTo, fingerprint256 };
}
