import { contentLength } from "@noisefloor/http/requests/content-length.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Authenticate } from "./auth.ts";
import { bulkCost } from "./costs.ts";

/** An upper bound for the JSON of an address. */
const BYTES_PER_ADDRESS = 20;

/** A preParsing hook that rejects a request before its body is read, because parsing 10,000 addresses is expensive. */
export function rejectUnread(app: FastifyInstance, authenticate: Authenticate) {
  return async <Payload>(request: FastifyRequest, _reply: unknown, payload: Payload): Promise<Payload> => {
    authenticate(request);
    await app.admission.assertCapacity(request, bulkCost(contentLength(request) / BYTES_PER_ADDRESS, true));
    return payload;
  };
}
