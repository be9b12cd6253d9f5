import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import helmet from "helmet";
import { makeResponse } from "./server/response-layout.ts";

/** The others mean something to a page alone: on every lookup they took a tenth of its time. */
const OF_ALL_RESPONSES = ["content-security-policy", "cross-origin-resource-policy", "x-content-type-options"];
const isOfAll = (name: string) => OF_ALL_RESPONSES.includes(name);

/** Plain HTTP stays beside HTTPS: with this header browsers would no longer use it. */
const ALSO_PLAIN_HTTP = { strictTransportSecurity: false } as const;

const pageHeaders = makeHeaders(ALSO_PLAIN_HTTP, (name) => !isOfAll(name));

/**
 * Sets the header fields that restrict what a browser does with a response; pages have more of them.
 * @param isSharedWithPages whether pages of other origins may use the responses.
 */
export function setSecurityHeaders(app: FastifyInstance, isSharedWithPages: boolean): void {
  const options = {
    ...ALSO_PLAIN_HTTP,
    // Most responses are no pages. The pages that there are set their own policy.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: isSharedWithPages ? "cross-origin" : "same-origin" },
  } as const;
  const headers = makeHeaders(options, isOfAll);
  app.addHook("onRequest", (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (String(reply.getHeader("content-type")).startsWith("text/html")) setPageHeaders(reply);
    done();
  });
}

/** For what becomes a page after the hooks of the application. */
export function setPageHeaders(reply: FastifyReply): void {
  reply.headers(pageHeaders);
}

/** Made once, as they are the same for all responses: made for each they took a fifteenth of the time of a lookup. */
function makeHeaders(options: Parameters<typeof helmet>[0], isWanted: (name: string) => boolean): OutgoingHttpHeaders {
  const response = makeResponse();
  helmet(options)(response.req, response, () => {});
  return Object.fromEntries(Object.entries(response.getHeaders()).filter(([name]) => isWanted(name)));
}
