import { closeHttpApp, listenHttpApp } from "@noisefloor/http/server/listen.ts";
import { createTlsServer } from "@noisefloor/http/server/tls.ts";
import type { HttpApp } from "./http.ts";
import type { ServiceContext } from "./service-context.ts";

export type ListenUrls = {
  /** Without a slash at the end. */
  readonly url: string;
  /** undefined when no certificate is configured. */
  readonly httpsUrl: string | undefined;
};

type HttpsEndpoint = { readonly server: Awaited<ReturnType<typeof createTlsServer>>; readonly port: number };

/** Creates the HTTPS server, when a certificate is configured. @throws TlsFilesError when its files are unusable. */
export async function createHttps({ settings, log }: ServiceContext, app: HttpApp): Promise<HttpsEndpoint | undefined> {
  const { tls } = settings.http;
  return tls && { server: await createTlsServer(app, tls, log), port: tls.port };
}

/** Listens for HTTP, and for HTTPS when there is such a server. */
export async function listen(
  { settings, closeStack }: ServiceContext,
  app: HttpApp,
  https: HttpsEndpoint | undefined,
): Promise<ListenUrls> {
  const { host, port } = settings.http;
  closeStack.add(() => closeHttpApp(app, https?.server));
  const httpsPort = await listenHttpApp(app, { host, port }, https);
  const address = app.server.address();
  const httpPort = address !== null && typeof address === "object" ? address.port : port;
  return {
    url: `http://${hostInUrl(host)}:${httpPort}`,
    httpsUrl: httpsPort === undefined ? undefined : `https://${hostInUrl(host)}:${httpsPort}`,
  };
}

/** The name under which a person on this machine reaches a host that a server listens on. */
function hostInUrl(host: string): string {
  if (["127.0.0.1", "0.0.0.0", "::1", "::"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
