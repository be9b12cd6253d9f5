import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Authenticate } from "./auth.ts";
import { bulkCost } from "./costs.ts";

/** No text of an address takes more bytes in a body. */
const BYTES_PER_ADDRESS = 20;

/** Rejects a request with many addresses before its body is read: to parse it takes longer than to reject it. */
export function rejectUnread(app: FastifyInstance, authenticate: Authenticate) {
  return async <Payload>(request: FastifyRequest, _reply: unknown, payload: Payload): Promise<Payload> => {
    authenticate(request);
    const bytes = Number(request.headers["content-length"] ?? 0);
    await app.admission.assertCapacity(request, bulkCost(bytes / BYTES_PER_ADDRESS, true));
    return payload;
  };
}
