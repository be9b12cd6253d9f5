import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { LOGGED_AT_DEBUG } from "../requests/request-log.ts";
import { isNotModified } from "../response-bodies/etag.ts";
import type { OpenApiDocument } from "./openapi.ts";

export const OPENAPI_PATH = "/openapi.json";
const DOCS_PATH = "/docs";

/** The page may load its own files only. They contain inline styles and images. */
const PAGE_SECURITY_POLICY = {
  "default-src": "'self'",
  "img-src": ["'self'", "data:"],
  "style-src": ["'self'", "'unsafe-inline'"],
  "frame-ancestors": "'none'",
};

/**
 * Serves the OpenAPI document: as JSON at /openapi.json, as pages at /docs, which load nothing from other hosts.
 * @param describe makes it; called at the first request, so that it does not delay the start.
 * @param basePath see `basePathOf`.
 */
export async function registerDocs(
  app: FastifyInstance,
  describe: () => OpenApiDocument,
  basePath: string,
): Promise<void> {
  let described: OpenApiDocument | undefined;
  let text: string | undefined;
  const document = () => {
    described ??= describe();
    return described;
  };
  // People open a service's address in a browser; the query interface has a start page of its own.
  if (!app.hasRoute({ method: "GET", url: "/" })) {
    app.get("/", { config: { operation: "toDocs" }, ...LOGGED_AT_DEBUG }, async (_request, reply) =>
      reply.redirect(`.${DOCS_PATH}`, 303),
    );
  }
  app.get(OPENAPI_PATH, { config: { operation: "openapi" } }, async (request, reply) => {
    text ??= JSON.stringify(document());
    if (isNotModified(request, reply, text)) return reply.code(304).send();
    return reply.type("application/json; charset=utf-8").send(text);
  });
  // The pages need this plugin, which would describe the routes; the document made from our operations replaces that.
  await app.register(swagger);
  await app.register(swaggerUi, {
    ...LOGGED_AT_DEBUG,
    routePrefix: DOCS_PATH,
    indexPrefix: basePath,
    transformSpecification: () => ({ ...document() }),
    theme: { title: "Noisefloor" },
    staticCSP: PAGE_SECURITY_POLICY,
    uiConfig: { layout: "BaseLayout", deepLinking: true, defaultModelsExpandDepth: 0, displayRequestDuration: true },
  });
}
