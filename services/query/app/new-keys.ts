import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import { credentialOf } from "@noisefloor/http/requests/key.ts";
import type { FastifyInstance } from "fastify";

/** Before a request with an unknown key or token is answered, looks whether it was just made by another process. */
export function lookForNewKeys(
  app: FastifyInstance,
  { callerOf, find, lookAgain }: Pick<AccessCache, "callerOf" | "find" | "lookAgain">,
): void {
  const isUnknown = (text: string) => callerOf(text) === undefined && find("feed", text) === undefined;
  app.addHook("onRequest", (request, _reply, done) => {
    const isOurs = request.routeOptions.config.keyOf === "workspace";
    const text = isOurs ? credentialOf(request, ["key", "bearer", "basic", "apiKey", "parameter"]) : "";
    if (text === "" || !isUnknown(text)) return done();
    void lookAgain().then(() => done());
  });
}
