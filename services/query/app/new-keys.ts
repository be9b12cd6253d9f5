import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import { keyOf } from "@noisefloor/http/requests/key.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { passwordOf } from "../feeds/requests/readers.ts";

/** The keys and tokens of a store, as this process knows them. */
export type KnownKeys = {
  readonly accessCache: Pick<AccessCache, "callerOf" | "lookAgain">;
  readonly cache: Pick<FeedCache, "token" | "lookAgain">;
};

/** Before a request with an unknown key or token is answered, looks whether it was just made by another process. */
export function lookForNewKeys(app: FastifyInstance, { accessCache, cache }: KnownKeys): void {
  const isUnknown = (text: string) => accessCache.callerOf(text) === undefined && cache.token(text) === undefined;
  app.addHook("onRequest", (request, _reply, done) => {
    const text = request.routeOptions.config.keyOf === "workspace" ? credentialOf(request) : "";
    if (text === "" || !isUnknown(text)) return done();
    void Promise.all([accessCache.lookAgain(), cache.lookAgain()]).then(() => done());
  });
}

/** The key or token of a request; empty without one. */
function credentialOf(request: FastifyRequest): string {
  const { headers } = request;
  const { query } = request;
  const token = typeof query === "object" && query !== null && "token" in query ? query.token : undefined;
  return (
    keyOf(headers) ||
    passwordOf(headers.authorization) ||
    String(headers["x-api-key"] ?? "") ||
    // A repeated one is rejected by its route.
    (typeof token === "string" ? token : "")
  );
}
