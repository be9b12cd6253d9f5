import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import type { OpenApiDocument } from "./openapi.ts";

export const OPENAPI_PATH = "/openapi.json";
const DOCS_PATH = "/docs";

/** What the page may load: its own files. They set styles and small pictures in line. */
const PAGE_SECURITY_POLICY = {
  "default-src": "'self'",
  "img-src": ["'self'", "data:"],
  "style-src": ["'self'", "'unsafe-inline'"],
  "frame-ancestors": "'none'",
};

/**
 * Serves the interface's description: for programs at /openapi.json, for people at /docs, where a browser loads nothing
 * from elsewhere.
 */
export async function registerDocs(app: FastifyInstance, document: OpenApiDocument): Promise<void> {
  app.get(OPENAPI_PATH, { config: { operation: "openapi" } }, async () => document);
  // The page asks this plugin for the description of its routes; ours was made from the operations themselves.
  await app.register(swagger);
  await app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    transformSpecification: () => ({ ...document }),
    theme: { title: "Noisefloor" },
    staticCSP: PAGE_SECURITY_POLICY,
    uiConfig: { layout: "BaseLayout", deepLinking: true, defaultModelsExpandDepth: 0, displayRequestDuration: true },
  });
}
