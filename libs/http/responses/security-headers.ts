import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";
import helmet from "helmet";

/** The others mean something to a page alone. */
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

function setPageHeaders(reply: FastifyReply): void {
  reply.headers(pageHeaders);
}

/** Made once: they are the same for all responses. */
function makeHeaders(options: Parameters<typeof helmet>[0], isWanted: (name: string) => boolean): OutgoingHttpHeaders {
  // The library writes to a response only; this one has no connection.
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  helmet(options)(response.req, response, () => {});
  return Object.fromEntries(Object.entries(response.getHeaders()).filter(([name]) => isWanted(name)));
}
