import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { feedBodyCost } from "../../costs.ts";
import { MAX_ITEMS_AGE_MS } from "../bodies/bodies.ts";
import { readObjects, readRevoked } from "../objects/feed-objects.ts";
import { indexObjects } from "../objects/object-index.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { DISABLED, NOT_PREPARED, preparedState } from "../requests/prepared-state.ts";
import { readableFeed, readerOf } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";
import { writeEvent, writeHashes, writeManifest } from "./event.ts";

const NO_FILE = "A MISP feed has the files manifest.json, hashes.csv and the event that its manifest names";
const FILE: PathParameter = {
  schema: z.string(),
  description: "`manifest.json`, `hashes.csv`, or the feed's id with `.json`.",
  errorMessage: NO_FILE,
  example: "manifest.json",
};

/** `GET /v3/feeds/{name}/misp/{file}`: the feed as MISP's own feeds are. */
const getMispFile = defineOperation({
  ...FEEDS,
  id: "getMispFile",
  method: "GET",
  path: "/v3/feeds/{name}/misp/{file}",
  summary: "The files of a feed that MISP reads: one event, with an attribute an address",
  description:
    "`timestamp` moves exactly when addresses come, leave or get a new version, which they do once an hour when they are seen. Addresses that left the feed in the last 90 days are `deleted`, with `to_ids` false.",
  pathParameters: { name: FEED_NAME, file: FILE },
  queryParameters: [],
  success: {
    status: 200,
    description: "The file.",
    schema: z.looseObject({}).meta({ id: "MispFile" }),
    example: { "8a55b4b0-8b8e-5b52-9e5a-6f1c0d0c8a11": { info: "Noisefloor: recent", timestamp: "1763647500" } },
    otherMediaTypes: { "text/csv": "9b7c1ba1b2a0ff8a1d2f3a4b5c6d7e8f,8a55b4b0-8b8e-5b52-9e5a-6f1c0d0c8a11\n" },
    textHeaders: { ETag: "A strong one: the same as long as the content is." },
  },
  errorResponses: {
    401: UNAUTHORIZED,
    403: errorResponse("The token is of another feed.", "This token reads another feed"),
    404: { ...FEED_NOT_FOUND, description: "The workspace has no such feed, or a MISP feed no such file." },
    410: errorResponse("The feed is disabled.", DISABLED),
    503: errorResponse("There is no list yet, or the store cannot be reached.", NOT_PREPARED),
  },
});

export function registerMisp(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, bodies, client } = deps;

  app.implement(getMispFile, async (request, reply, { signal }) => {
    const feed = readableFeed(feeds, request.params.name, readerOf(request, deps));
    const { file } = request.params;
    const files = new Map<string, readonly [type: string, write: typeof writeEvent | typeof writeManifest]>([
      ["manifest.json", ["application/json; charset=utf-8", writeManifest]],
      ["hashes.csv", ["text/csv; charset=utf-8", writeHashes]],
      [`${feed.id}.json`, ["application/json; charset=utf-8", writeEvent]],
    ]);
    const [type, write] = files.get(file) ?? [];
    if (type === undefined || write === undefined) throw new HttpError(404, NO_FILE);
    const state = await preparedState(feed, reply, deps, signal);
    const { revision, revisedAt, listedAt, count } = state.head;
    const objects = async function* () {
      const index = indexObjects(state, await readRevoked(state, 0, client));
      yield* readObjects(index, feed, listedAt, deps, AbortSignal.timeout(app.deadlineMs));
    };
    const body = await bodies.get(request, {
      key: [feed.id, revision, file].join(" "),
      write: () => write({ feed, changedAt: revisedAt, objects }),
      cost: feedBodyCost(count, "objects"),
      maxAgeMs: MAX_ITEMS_AGE_MS,
    });
    return bodies.send(request, reply, type, body);
  });
}
