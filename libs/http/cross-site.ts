import { isIP } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HttpError } from "./errors.ts";
import { HEALTH_PATH, READY_PATH } from "./health.ts";

/** Where an application is reached, and what it takes without a key. */
export type SiteOptions = {
  /** What it listens on. */
  readonly host: string;
  /** Where its users reach it. */
  readonly publicUrl?: string | undefined;
  /** Further names by which it is reached; `*` means any. */
  readonly allowedHosts: readonly string[];
  /** Whether it takes observations without a key at the moment. */
  readonly isIntakeOpen: () => boolean;
};

/** Not in front of others' pages and names: what a proxy or an orchestrator asks often, and which tells nothing. */
const UNGUARDED_PATHS: readonly (string | undefined)[] = [HEALTH_PATH, READY_PATH];

/** Whether only this machine reaches what listens there. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/**
 * Refuses what a web page sends in its visitor's name to a service that asks for no key: requests of other origins that
 * are more than a question, and all under a name that is not ours, for a page can have its own name lead to any address
 * (DNS rebinding). A request with a key needs neither check: pages do not know keys.
 */
export function refuseForeignPages(
  app: FastifyInstance,
  { host, publicUrl, allowedHosts, isIntakeOpen, corsOrigins }: SiteOptions & { corsOrigins: readonly string[] },
): void {
  const isLocal = isLoopback(host);
  const names = new Set(["localhost", ...allowedHosts.map((name) => name.toLowerCase())]);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname);
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;

  const isOurs = (name: string) =>
    names.has(name) ||
    names.has("*") ||
    isIP(name.replace(/^\[|\]$/g, "")) !== 0 ||
    // Names in a network of containers. No page has one; but whoever runs a network can have them lead to loopback.
    (!isLocal && !name.includes("."));
  const isForeignPage = (request: FastifyRequest) => {
    const { origin, "sec-fetch-site": site } = request.headers;
    if (corsOrigins.includes("*") || (origin !== undefined && corsOrigins.includes(origin))) return false;
    // Browsers say it themselves, and pages cannot.
    if (site !== undefined && site !== "none") return site !== "same-origin";
    return origin !== undefined && origin !== publicOrigin && !isOriginOf(origin, request.host);
  };

  app.addHook("onRequest", async (request) => {
    if (UNGUARDED_PATHS.includes(request.routeOptions.url) || carriesKey(request)) return;
    if (request.method === "POST" && request.routeOptions.config.keyOf !== undefined && isForeignPage(request)) {
      throw new HttpError(403, "Web pages of other origins may not send this: CORS_ORIGINS does not list the origin");
    }
    const { host } = request.headers;
    // Up to HTTP 1.0 there need be none, and no browser sends such a request.
    if (host === undefined || !(isLocal || isIntakeOpen())) return;
    if (!isOurs(nameIn(host))) {
      throw new HttpError(403, "The name in Host is not known here: neither PUBLIC_URL nor ALLOWED_HOSTS has it");
    }
  });
}

/** Only where the key is looked at: elsewhere anything could be put there. */
function carriesKey({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.keyOf !== undefined && headers.key !== undefined && headers.key !== "";
}

/** Without the port, in the one spelling that URLs have; what is no host at all has none. */
function nameIn(host: string): string {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : ".";
}

function isOriginOf(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = `${new URL(origin).protocol}//${host}`;
  return URL.canParse(url) && new URL(url).origin === origin;
}
