import type { Settings } from "@noisefloor/config/settings.ts";
import { HEALTH_PATH, READY_PATH } from "@noisefloor/http/health.ts";
import { assertFree, closeHttpApp, listenHttpApp, portOf, type TlsEndpoint } from "@noisefloor/http/server/listen.ts";
import type { IsOffered } from "@noisefloor/http/server/route-allowlist.ts";
import { createTlsServer } from "@noisefloor/http/server/tls.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { isElasticsearchRequest } from "@noisefloor/ingest/sources/elasticsearch/handshake.ts";
import type { Roles, ServiceContext } from "../service-context.ts";
import type { HttpApp } from "./http.ts";

export type ListenUrls = {
  /** Without a slash at the end. */
  readonly url: string;
  /** undefined when no certificate is configured. */
  readonly httpsUrl: string | undefined;
  /** Where only sensors are answered; undefined when no such port is configured. */
  readonly intakeUrl: string | undefined;
};

const INTAKE_ROUTES: ReadonlySet<string> = new Set([
  ...INGEST_OPERATIONS.map(({ method, path }) => `${method} ${path}`),
  `GET ${HEALTH_PATH}`,
  `GET ${READY_PATH}`,
]);

/** What a server for sensors offers: the intake, and what proxies and orchestrators poll. */
const isOfIntake =
  (app: HttpApp): IsOffered =>
  (request, method, path) =>
    INTAKE_ROUTES.has(`${method} ${path}`) ||
    // An index may be called like a path of the application's.
    (isElasticsearchRequest(request, path) && !(/^\/[^_]/.test(path) && app.hasRoute({ method: "GET", url: path })));

/** The servers for HTTPS that the settings ask for. */
export type TlsEndpoints = { readonly https: TlsEndpoint | undefined; readonly intake: TlsEndpoint | undefined };

/** Creates the servers for HTTPS, when a certificate is configured. @throws TlsFilesError when its files are unusable. */
export async function createTlsEndpoints(
  { roles, settings, log }: ServiceContext,
  app: HttpApp,
): Promise<TlsEndpoints> {
  const { tls: files } = settings.http;
  if (files === undefined) return { https: undefined, intake: undefined };
  const { port, intakePort } = files;
  const https = { server: await createTlsServer(app, { files, log }), port, portVariable: "HTTPS_PORT" };
  if (intakePort === undefined || !roles.ingest) return { https, intake: undefined };
  const server = await createTlsServer(app, { files, log, isOffered: isOfIntake(app) });
  return { https, intake: { server, port: intakePort, portVariable: "INTAKE_PORT" } };
}

/** @throws ListenError when a service with these roles could not listen on one of its ports. */
export async function assertPortsFree({ http }: Settings, { ingest }: Roles): Promise<void> {
  const { host, port, tls } = http;
  const ports = [
    ["HTTP_PORT", port],
    ["HTTPS_PORT", tls?.port],
    ["INTAKE_PORT", ingest ? tls?.intakePort : undefined],
  ] as const;
  for (const [portVariable, wanted] of ports) {
    if (wanted !== undefined) await assertFree({ host, port: wanted, portVariable });
  }
}

/** Listens for HTTP, and for HTTPS when there are such servers. */
export async function listen(
  { settings, closeStack }: ServiceContext,
  app: HttpApp,
  { https, intake }: TlsEndpoints,
): Promise<ListenUrls> {
  const { host, port } = settings.http;
  const endpoints = [https, intake].filter((endpoint) => endpoint !== undefined);
  const servers = endpoints.map(({ server }) => server);
  closeStack.add(() => closeHttpApp(app, servers));
  await listenHttpApp(app, { host, port }, endpoints);
  const urlOf = (endpoint: TlsEndpoint | undefined) =>
    endpoint && `https://${hostInUrl(host)}:${portOf(endpoint.server)}`;
  return {
    url: `http://${hostInUrl(host)}:${portOf(app.server)}`,
    httpsUrl: urlOf(https),
    intakeUrl: urlOf(intake),
  };
}

/** The name under which a person on this machine reaches a host that a server listens on. */
function hostInUrl(host: string): string {
  if (["127.0.0.1", "0.0.0.0", "::1", "::"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
