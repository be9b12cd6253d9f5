import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { handleClientError, JSON_ERRORS_ONLY, trackSockets } from "../responses/connections.ts";
import { type IsOffered, offerOnly } from "./route-allowlist.ts";

/** The PEM files of the certificate (with its chain, leaf first) and of its private key. */
export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/** The certificate or key file cannot be used; the message says which one and why. */
export class TlsFilesError extends Error {
  override name = "TlsFilesError";
}

/** Older versions are broken. Set here, so that no flag of the process can lower it. */
const PROTOCOLS = { minVersion: "TLSv1.2" } as const satisfies SecureContextOptions;
/** How long a client that connects and then sends nothing keeps its connection. */
const HANDSHAKE_TIMEOUT_MS = 20_000;

type Log = Pick<FastifyBaseLogger, "info" | "warn">;

export type TlsServerOptions = {
  readonly files: TlsFiles;
  readonly log: Log;
  /** How often the files are read; every two seconds unless given. */
  readonly intervalMs?: number | undefined;
  /** The only routes that it offers; all unless given. */
  readonly isOffered?: IsOffered | undefined;
};

/** @throws TlsFilesError when the files cannot be used now. */
export async function checkTlsFiles(files: TlsFiles): Promise<void> {
  secureContextOf(await readPair(files), files);
}

/**
 * An HTTPS server for an application, beside its own HTTP server and with the same routes, limits and errors. It polls
 * the files until it closes: new connections get a renewed certificate, open ones keep theirs.
 * @throws TlsFilesError when the files cannot be used at the start. Later the last usable certificate stays.
 */
export async function createTlsServer(
  app: FastifyInstance,
  { files, log, intervalMs = 2_000, isOffered }: TlsServerOptions,
): Promise<Server> {
  const pair = await readPair(files);
  const options = { ...secureContextOf(pair, files), ...JSON_ERRORS_ONLY, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  const handle: typeof app.handleRequest = (request, response) => {
    if (isOffered !== undefined) offerOnly(request, isOffered);
    app.handleRequest(request, response);
  };
  const server = createServer(options, handle);
  const { requestTimeout, headersTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket } = app.server;
  Object.assign(server, { requestTimeout, headersTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket });
  server.on("clientError", handleClientError);
  server.on("checkExpectation", handle);
  app.connectionLimit.track(server);
  trackSockets(server);
  let [digestInUse, lastReason] = [digest(pair), ""];
  // Compares content: a file watch misses a changed link to the files' folder, which is how Kubernetes renews them.
  const renew = async () => {
    try {
      const latest = await readPair(files);
      if (digest(latest) !== digestInUse) {
        server.setSecureContext(secureContextOf(latest, files));
        digestInUse = digest(latest);
        log.info(describe(latest.cert), "TLS certificate renewed");
      }
      lastReason = "";
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== lastReason) log.warn({ reason }, "could not load TLS files; serving the last certificate");
      lastReason = reason;
    }
  };
  const polls = repeatEvery(renew, { everyMs: intervalMs, onError: () => {} });
  server.once("close", () => void polls.stop());
  return server;
}

type Pair = { readonly cert: Buffer; readonly key: Buffer };

async function readPair({ certFile, keyFile }: TlsFiles): Promise<Pair> {
  const read = (variable: string, file: string) =>
    readFile(file).catch((error: unknown) => {
      throw new TlsFilesError(`${variable}: ${reasonOf(error)}`);
    });
  // One after the other: of two files that are missing, the message always names the first.
  const cert = await read("TLS_CERT_FILE", certFile);
  return { cert, key: await read("TLS_KEY_FILE", keyFile) };
}

/** Identifies the files' content without keeping the key in memory. */
function digest({ cert, key }: Pair): string {
  return createHash("sha256").update(createHash("sha256").update(cert).digest()).update(key).digest("hex");
}

/** @throws TlsFilesError for a pair with which every handshake would fail. */
function secureContextOf({ cert, key }: Pair, { certFile, keyFile }: TlsFiles): SecureContextOptions {
  const certificate = attempt(() => new X509Certificate(cert), `TLS_CERT_FILE: ${certFile} holds no PEM certificate`);
  const privateKey = attempt(
    () => createPrivateKey(key),
    `TLS_KEY_FILE: ${keyFile} holds no PEM private key, or one that asks for a passphrase`,
  );
  // OpenSSL accepts a certificate and a key of different kinds, and then fails every handshake.
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

/** What may be logged of a certificate. */
function describe(cert: Buffer) {
  const { subject, validTo, fingerprint256 } = new X509Certificate(cert);
  return { subject, validTo, fingerprint256 };
}
