import { isIP } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HttpError } from "../responses/errors.ts";
import { keyOf } from "./key.ts";
import { authorityOf } from "./request-target.ts";

/** Where an application is reached, and whether it accepts observations without a key. */
export type SiteOptions = {
  /** The address that it listens on. */
  readonly host: string;
  /** The URL that its users reach it under. */
  readonly publicUrl?: string | undefined;
  /** Further names by which it is reached; `*` means any. */
  readonly allowedHosts: readonly string[];
  /** Whether it accepts observations without a key at the moment. */
  readonly isIntakeOpen: () => boolean;
};

/** What an application checks of a site. */
export type CrossSiteOptions = SiteOptions & {
  readonly corsOrigins: readonly string[];
  /** Reachable from any page and under any name. */
  readonly uncheckedPaths: readonly string[];
};

/** Whether only this machine reaches that address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/**
 * Rejects what a web page sends in its visitor's name to a service without keys: writes from other origins (CSRF), and
 * all requests under a name that is not ours, because a page's own name can resolve to any address (DNS rebinding). A
 * request with a key needs neither check: pages do not know keys.
 */
export function rejectCrossSite(
  app: FastifyInstance,
  { host, publicUrl, allowedHosts, isIntakeOpen, corsOrigins, uncheckedPaths }: CrossSiteOptions,
): void {
  const isLocal = isLoopback(host);
  const names = new Set(["localhost", ...allowedHosts.map((name) => name.toLowerCase())]);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname);
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;

  const isOurs = (name: string) =>
    names.has(name) ||
    names.has("*") ||
    isIP(name.replace(/^\[|\]$/g, "")) !== 0 ||
    // Names in a network of containers: no page has one. But a network's DNS could resolve them to loopback.
    (!isLocal && !name.includes("."));
  const isForeignPage = (request: FastifyRequest) => {
    const { origin, "sec-fetch-site": site } = request.headers;
    if (corsOrigins.includes("*") || (origin !== undefined && corsOrigins.includes(origin))) return false;
    // Only the browser can set this header, no page can.
    if (site !== undefined && site !== "none") return site !== "same-origin";
    return origin !== undefined && origin !== publicOrigin && !isOriginOf(origin, request.host);
  };

  const check = (request: FastifyRequest): HttpError | undefined => {
    if (uncheckedPaths.includes(request.routeOptions.url ?? "") || carriesKey(request)) return undefined;
    if (request.method === "POST" && request.routeOptions.config.keyOf !== undefined && isForeignPage(request)) {
      return new HttpError(403, "Web pages of other origins may not send this: CORS_ORIGINS does not list the origin");
    }
    if (!(isLocal || isIntakeOpen()) || hostsOf(request).every((host) => isOurs(nameIn(host)))) return undefined;
    return new HttpError(403, "The name in Host is not known here: neither PUBLIC_URL nor ALLOWED_HOSTS has it");
  };
  app.addHook("onRequest", (request, _reply, done) => done(check(request)));
}

/** Only on routes that check the key: elsewhere it could be any text. */
function carriesKey({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.keyOf !== undefined && keyOf(headers) !== "";
}

/**
 * Every host that a request names, in its target or in a field, of which Node reads the first alone. HTTP 1.0 allows
 * none, and no browser sends such a request.
 */
function hostsOf({ raw, originalUrl }: FastifyRequest): string[] {
  const hosts = raw.rawHeaders.filter(
    (_, index) => index % 2 === 1 && raw.rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  const inTarget = authorityOf(originalUrl);
  return inTarget === undefined ? hosts : [...hosts, inTarget];
}

/** The host without its port, normalized as URLs are; `.` when it is no host at all. */
function nameIn(host: string): string {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : ".";
}

function isOriginOf(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = `${new URL(origin).protocol}//${host}`;
  return URL.canParse(url) && new URL(url).origin === origin;
}
