import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Plans } from "@noisefloor/domain/access/plan.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { readSearch } from "@noisefloor/domain/search/read-search.ts";
import { sealRoutes } from "@noisefloor/http/app.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { type Parameter, type RawQuery, readParameter, readPath } from "@noisefloor/http/parameters.ts";
import { type Deadline, runWithDeadline } from "@noisefloor/http/requests/deadline.ts";
import { LOGGED_AT_DEBUG } from "@noisefloor/http/requests/request-log.ts";
import { setPageHeaders } from "@noisefloor/http/security-headers.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { readContexts } from "../address/read-contexts.ts";
import type { LookupDeps } from "../address/store-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { bulkCost, FULL_CONTEXT_COST } from "../costs.ts";
import { addressParameter } from "../parameters.ts";
import type { CountLookups } from "../rate-limit/count-lookups.ts";
import { addressPage } from "./address-page.ts";
import { type Explorer, registerAssets, sendDocument } from "./explorer.ts";
import { homePage } from "./home-page.ts";
import { type Page, PLAIN_PARAMETER, PLAIN_QUERY, writePage } from "./layout.ts";
import { listPage } from "./list-page.ts";
import { messagePage } from "./message-page.ts";
import { plansPage } from "./plans-page.ts";
import { PAGE_SECURITY_POLICY } from "./style.ts";

const ADDRESS = addressParameter("This is not an IPv4 address that can be reached over the Internet.");
const ONLY_ADDRESSES = "Pages without JavaScript look up addresses alone.";
const NOT_FOUND = "Our sensors have not seen it scanning the Internet, and it belongs to no known benign service.";
const FOR_BROWSERS =
  "This is a page for browsers: programs use /v3/community/{ip}, or another operation of /openapi.json";

/** The parameter of the lookup form: one address or several, as people paste them. */
const FORM_TEXT: Parameter<string> = {
  name: "ip",
  description: "The addresses.",
  takes: "IPv4 addresses",
  schema: z.string().default(""),
  describedBy: "input",
  example: ADDRESS.example,
};

/** A crawler would follow every address, and each page of one is a lookup. */
const ROBOTS_PATH = "/robots.txt";
const NO_ROBOTS = "User-agent: *\nDisallow: /\n";

export type PagesDeps = LookupDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
  readonly plans: Plans;
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
  /** Without it, all pages are plain. */
  readonly explorer?: Explorer | undefined;
};

type PageRequest = FastifyRequest<{ Params: { readonly ip?: string }; Querystring: RawQuery }>;
type Render = (request: PageRequest, reply: FastifyReply, deadline: Deadline) => Promise<Page>;

/**
 * Pages for browsers. They are not operations of the API, and a client that does not ask for HTML gets none. The
 * explorer makes its pages in the browser out of answers of the API. Without it, and with `?plain=true`, `/`, `/plans`,
 * `/ip/{ip}` and `/riot/{ip}` are plain pages without scripts; then the page of an address counts as a lookup. Error
 * responses are pages, too, also for unknown paths.
 */
export function registerPages(app: FastifyInstance, deps: PagesDeps): void {
  // Only the path of the public URL: the browser keeps the host by which it reached the service.
  const base = new URL(deps.publicUrl).pathname.replace(/\/+$/, "");
  const { explorer } = deps;

  const address: Render = async (request, reply, deadline) => {
    const ip = readPath(request.params.ip ?? "", ADDRESS);
    const caller = deps.authenticate(request);
    return deps.countLookups({ request, reply, caller, lookups: 1, deadline }, async () => {
      const contexts = await app.admission.run(request, FULL_CONTEXT_COST, deadline.signal, () =>
        readContexts([ip], [GLOBAL_SCOPE], true, deps, deadline.signal),
      );
      const context = contexts.get(ip) ?? {};
      if (context.noise === undefined && context.riot === undefined) throw new HttpError(404, NOT_FOUND);
      return addressPage(ip, context, deps.catalogue, base);
    });
  };
  const site = { app, base, explorer };
  addPage(site, "/", "homePage", async () => homePage(base, deps.publicUrl));
  addPage(site, "/plans", "plansPage", async () => plansPage(deps.plans));
  addPage(site, "/ip/:ip", "addressPage", address);
  addPage(site, "/riot/:ip", "servicePage", address);
  app.get<{ Querystring: RawQuery }>("/lookup", pageOptions("lookupForm", base), async (request, reply) => {
    const search = readSearch(readParameter(request.query, FORM_TEXT));
    if (search.kind === "address")
      return reply.redirect(`${base}/ip/${readPath(search.ip, ADDRESS)}${PLAIN_QUERY}`, 303);
    if (search.kind === "nothing") throw new HttpError(400, search.reason);
    if (search.kind !== "list") throw new HttpError(400, ONLY_ADDRESSES);
    const { entries } = search;
    const page = await runWithDeadline(reply.raw, app.deadlineMs, async (deadline) => {
      const ips = entries.filter(({ kind }) => kind === "address").map(({ text }) => text);
      const caller = deps.authenticate(request);
      const read = () => readContexts(ips, [GLOBAL_SCOPE], false, deps, deadline.signal);
      const summaries = await deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
        app.admission.run(request, bulkCost(ips.length, true), deadline.signal, read),
      );
      return listPage(entries, summaries, base);
    });
    return sendPlain(reply, base, page);
  });
  app.get(ROBOTS_PATH, { config: { operation: "robots" } }, async (_request, reply) =>
    reply.type("text/plain; charset=utf-8").send(NO_ROBOTS),
  );
  const explorerUrls = explorer === undefined ? [] : registerExplorer(site, explorer);
  // After the intake's routes, which take POST on the first of them.
  app.after(() => sealRoutes(app, ["/", "/plans", "/ip/:ip", "/riot/:ip", "/lookup", ROBOTS_PATH, ...explorerUrls]));
  app.notFoundPage.send = (request, reply) => {
    if (!wantsHtml(request)) return undefined;
    reply.code(404);
    if (explorer !== undefined) return sendDocument(reply, explorer, base);
    return sendPlain(reply, base, messagePage(404, "There is no such page.", base));
  };
}

type Site = { readonly app: FastifyInstance; readonly base: string; readonly explorer: Explorer | undefined };

/** The pages that have no plain form, instead of which the plain start page is shown. @returns their URLs and those of the files. */
function registerExplorer({ app, base }: Site, explorer: Explorer): string[] {
  const urls = Object.entries(EXPLORER_PAGES).map(([url, operation]) => {
    app.get<{ Querystring: RawQuery }>(url, pageOptions(operation, base), async (request, reply) => {
      const isPlain = request.query[PLAIN_PARAMETER] === "true";
      return isPlain ? reply.redirect(`${base}/${PLAIN_QUERY}`, 303) : sendDocument(reply, explorer, base);
    });
    return url;
  });
  return [...urls, ...registerAssets(app, explorer)];
}

/** The operations by URL, for logs and metrics. */
const EXPLORER_PAGES = {
  "/asns/:asn": "asnPage",
  "/countries/:country": "countryPage",
  "/addresses": "addressesPage",
  "/networks/:ip/:length": "networkPage",
  "/sensors": "sensorsPage",
  "/tags": "tagsPage",
  "/tags/:slug": "tagPage",
};

function addPage({ app, base, explorer }: Site, url: string, operation: string, render: Render): void {
  app.get<{ Params: { readonly ip?: string }; Querystring: RawQuery }>(
    url,
    pageOptions(operation, base),
    async (request, reply) => {
      if (explorer !== undefined && request.query[PLAIN_PARAMETER] !== "true") {
        return sendDocument(reply, explorer, base);
      }
      const page = await runWithDeadline(reply.raw, app.deadlineMs, (deadline) => render(request, reply, deadline));
      return sendPlain(reply, base, page);
    },
  );
}

const HTML = "text/html; charset=utf-8";
const messageSchema = z.object({ message: z.string() });

function sendPlain(reply: FastifyReply, base: string, page: Page): FastifyReply {
  return reply.header("content-security-policy", PAGE_SECURITY_POLICY).type(HTML).send(writePage(base, page));
}

/** Only for browsers. Every error response, Fastify's own included, becomes a page. */
function pageOptions(operation: string, base: string) {
  return {
    config: { operation },
    ...LOGGED_AT_DEBUG,
    onRequest: async (request: FastifyRequest) => {
      if (!wantsHtml(request)) throw new HttpError(406, FOR_BROWSERS);
    },
    onSend: async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      const isPage = String(reply.getHeader("content-type")).startsWith("text/html");
      if (!wantsHtml(request) || isPage || typeof payload !== "string" || payload === "") return payload;
      const { message } = messageSchema.parse(JSON.parse(payload));
      reply.header("content-security-policy", PAGE_SECURITY_POLICY).type(HTML);
      setPageHeaders(reply);
      return writePage(base, messagePage(reply.statusCode, message, base));
    },
  };
}

/** True for browsers, which name HTML. Programs accept JSON, anything, or do not say. */
function wantsHtml({ headers: { accept = "" } }: FastifyRequest): boolean {
  return /\btext\/html\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accept);
}
