import { sealRoutes } from "@noisefloor/http/app.ts";
import { LOGGED_AT_DEBUG } from "@noisefloor/http/requests/request-log.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Explorer, registerAssets, sendDocument } from "./explorer.ts";

const FOR_BROWSERS =
  "This is a page for browsers: programs use /v3/community/{ip}, or another operation of /openapi.json";

/** A crawler would follow every address, and each page of one is a lookup. */
const ROBOTS_PATH = "/robots.txt";
const NO_ROBOTS = "User-agent: *\nDisallow: /\n";

/** The pages by URL, with their names in logs and metrics. */
const PAGES = {
  "/": "homePage",
  "/today": "todayPage",
  "/overview": "overviewPage",
  "/plans": "plansPage",
  "/ip/:ip": "addressPage",
  "/riot/:ip": "servicePage",
  "/asns/:asn": "asnPage",
  "/countries/:country": "countryPage",
  "/addresses": "addressesPage",
  "/compare": "comparePage",
  "/feeds": "feedsPage",
  "/feeds/:name": "feedPage",
  "/networks/:ip/:length": "networkPage",
  "/search": "searchPage",
  "/sensors": "sensorsPage",
  "/tags": "tagsPage",
  "/tags/:slug": "tagPage",
};

export type PagesDeps = {
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
  /** Without it, there are no pages. */
  readonly explorer?: Explorer | undefined;
};

/**
 * Pages for browsers, which the explorer makes out of answers of the API. They are not operations of the API: a client
 * that does not ask for HTML gets none. Unknown paths are pages, too.
 */
export function registerPages(app: FastifyInstance, { publicUrl, explorer }: PagesDeps): void {
  app.get(ROBOTS_PATH, { config: { operation: "robots" } }, async (_request, reply) =>
    reply.type("text/plain; charset=utf-8").send(NO_ROBOTS),
  );
  const urls = explorer === undefined ? [] : registerExplorer(app, publicUrl, explorer);
  // After the intake's routes, which take POST on the first of them.
  app.after(() => sealRoutes(app, [ROBOTS_PATH, ...urls]));
}

/** @returns the URLs of the pages and of the files that they load. */
function registerExplorer(app: FastifyInstance, publicUrl: string, explorer: Explorer): string[] {
  for (const [url, operation] of Object.entries(PAGES)) {
    app.get(url, { config: { operation }, ...LOGGED_AT_DEBUG }, async (request, reply) => {
      if (!wantsHtml(request)) throw new HttpError(406, FOR_BROWSERS);
      return sendDocument(reply, explorer, publicUrl);
    });
  }
  app.notFoundPage.send = (request, reply) =>
    wantsHtml(request) ? sendDocument(reply.code(404), explorer, publicUrl) : undefined;
  return [...Object.keys(PAGES), ...registerAssets(app, explorer)];
}

/** True for browsers, which name HTML. Programs accept JSON, anything, or do not say. */
function wantsHtml({ headers: { accept = "" } }: FastifyRequest): boolean {
  return /\btext\/html\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accept);
}
