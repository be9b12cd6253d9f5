import type { FastifyInstance, FastifyReply } from "fastify";

/** What answers depend on besides their address: a shared cache does not know that the header `key` is a secret. */
const VARIES_BY = "key";
const NO_STORE = "no-store";

/** The same for answers that are written by hand, as lines of their header. */
export const NO_CACHE_LINES = `Cache-Control: ${NO_STORE}\r\nVary: ${VARIES_BY}\r\n`;

/** API: every answer says that no cache may keep it, or a cache in front would hand one workspace's data to another. */
export function forbidCaching(app: FastifyInstance): void {
  // At the end: the files of the page for people come with a Cache-Control of their own.
  app.addHook("onSend", async (_request, reply) => setNoCache(reply));
}

/** For answers that are given where no hook runs. */
export function setNoCache(reply: FastifyReply): void {
  reply.header("cache-control", NO_STORE).header("vary", withKey(reply.getHeader("vary")));
}

/** Keeps what others have said, as CORS does of `Origin`. */
function withKey(vary: number | string | string[] | undefined): string {
  const fields = [vary ?? []].flat().flatMap((value) => String(value).split(","));
  const names = fields.map((name) => name.trim()).filter((name) => name !== "");
  return names.some((name) => name.toLowerCase() === VARIES_BY) ? names.join(", ") : [...names, VARIES_BY].join(", ");
}
