import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import helmet from "helmet";

/**
 * Sets the header fields that restrict what a browser does with a response. Helmet makes them once, as they are the
 * same for all: made for each request they took a fifteenth of the time of a lookup.
 * @param isSharedWithPages whether pages of other origins may use the responses.
 */
export function setSecurityHeaders(app: FastifyInstance, isSharedWithPages: boolean): void {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const makeHeaders = helmet({
    // Most responses are no pages. The pages that there are set their own policy.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: isSharedWithPages ? "cross-origin" : "same-origin" },
    // Plain HTTP stays beside HTTPS: with this header browsers would no longer use it.
    strictTransportSecurity: false,
  });
  makeHeaders(request, response, () => {});
  const headers = response.getHeaders();
  app.addHook("onRequest", (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
