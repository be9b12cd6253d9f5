import type { FastifyInstance, FastifyReply } from "fastify";

/** The request header that responses depend on: a shared cache does not know that it is a secret. */
const VARIES_BY = "key";
const NO_STORE = "no-store";

/** Both as header lines, for responses that are written without Fastify. */
export const NO_CACHE_LINES = `Cache-Control: ${NO_STORE}\r\nVary: ${VARIES_BY}\r\n`;

/** API: no cache may store any response, or a cache in front would serve one workspace's data to another. */
export function forbidCaching(app: FastifyInstance): void {
  // In onSend: the files of the documentation pages set a Cache-Control of their own before.
  app.addHook("onSend", (_request, reply, _payload, done) => {
    setNoCache(reply);
    done();
  });
}

/** For responses where no hook runs. */
export function setNoCache(reply: FastifyReply): void {
  reply.header("cache-control", NO_STORE).header("vary", withKey(reply.getHeader("vary")));
}

/** Keeps fields that others have set, as CORS sets `Origin`. */
function withKey(vary: number | string | string[] | undefined): string {
  if (vary === undefined) return VARIES_BY;
  const fields = [vary ?? []].flat().flatMap((value) => String(value).split(","));
  const names = fields.map((name) => name.trim()).filter((name) => name !== "");
  return names.some((name) => name.toLowerCase() === VARIES_BY) ? names.join(", ") : [...names, VARIES_BY].join(", ");
}
