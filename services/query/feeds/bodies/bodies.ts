import { callerOf } from "@noisefloor/http/limits/caller.ts";
import type { ResponseReservation } from "@noisefloor/http/limits/response-memory.ts";
import { hasRevision } from "@noisefloor/http/response-bodies/etag.ts";
import { MediaBody, NOT_MODIFIED } from "@noisefloor/http/response-bodies/media-body.ts";
import { onClosed } from "@noisefloor/http/responses/pending-responses.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Chunks } from "../form.ts";
import { keepRenderedBodies, type RenderedBody, renderBody } from "./rendered.ts";

/** For how long a body with more than addresses may be older than what is stored of them. */
export const MAX_ITEMS_AGE_MS = 60_000;

export type WantedBody = {
  readonly key: string;
  readonly write: () => Chunks;
  /** For admission; 0 for a body that need not queue. */
  readonly cost: number;
  /** For how long it may be kept; left out, as long as there is memory. */
  readonly maxAgeMs?: number | undefined;
};

/** The bodies of feeds, within the limits that all large responses share. */
export type FeedBodies = {
  /**
   * A body, kept or written now. A large one queues for admission, as large queries do; while it is written it takes
   * response memory of the caller whose request came first.
   * @throws HttpError 429 or 503 as admission and response memory do.
   */
  get(request: FastifyRequest, wanted: WantedBody): Promise<RenderedBody>;
  /**
   * What an operation answers: the body, or that the client has it. Until its clients have read it, a body takes
   * response memory once for each caller, since all of them share its bytes.
   * @throws HttpError 429 or 503 when there is no memory for it.
   */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    contentType: string,
    body: RenderedBody,
  ): MediaBody | typeof NOT_MODIFIED;
};

type Readers = { readonly memory: ResponseReservation; responses: number };

export function openFeedBodies(app: FastifyInstance): FeedBodies {
  const kept = keepRenderedBodies();
  /** By body, then by the name of the caller. */
  const readers = new WeakMap<RenderedBody, Map<string, Readers>>();

  const hold = (request: FastifyRequest, reply: FastifyReply, body: RenderedBody) => {
    const { name } = callerOf(request);
    const byCaller = readers.get(body) ?? new Map<string, Readers>();
    readers.set(body, byCaller);
    const known = byCaller.get(name);
    const own = known ?? { memory: app.responseMemory.reserve(request), responses: 0 };
    if (known === undefined) own.memory.grow(body.bytes);
    byCaller.set(name, own);
    own.responses++;
    onClosed(reply.raw, () => {
      own.responses--;
      if (own.responses > 0) return;
      byCaller.delete(name);
      own.memory.release();
    });
  };

  return {
    get(request, { key, write, cost, maxAgeMs }) {
      const render = async () => {
        const memory = app.responseMemory.reserve(request);
        try {
          return await renderBody(write(), (bytes) => memory.grow(bytes));
        } finally {
          memory.release();
        }
      };
      // Not until the request ends: others may wait for the same body.
      const admitted = () => app.admission.run(request, cost, AbortSignal.timeout(app.deadlineMs), render);
      return kept.get(key, cost === 0 ? render : admitted, maxAgeMs);
    },
    send(request, reply, contentType, body) {
      if (hasRevision(request, reply, body.digest)) return NOT_MODIFIED;
      hold(request, reply, body);
      return new MediaBody(contentType, body.pieces);
    },
  };
}
