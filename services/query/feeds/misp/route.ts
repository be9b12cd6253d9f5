import { readAllObjects, readNewestVersion } from "@noisefloor/clickhouse/feeds/objects.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { feedBodyCost } from "../../costs.ts";
import type { FeedObjects } from "../feed-content.ts";
import { toFeedObject } from "../objects/feed-objects.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { DISABLED, NOT_PREPARED, preparedState } from "../requests/prepared-state.ts";
import { readableFeed, readerOf } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";
import { type EventContent, writeEvent, writeHashes, writeManifest } from "./event.ts";

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
    "`timestamp` moves exactly when the event changes. Addresses that left the feed are `deleted`, with `to_ids` false.",
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
  const { feeds, bodies, client, publicUrl } = deps;

  async function* allObjects(feedId: string): FeedObjects {
    for await (const objects of readAllObjects(client, feedId)) {
      yield objects.map((object) => toFeedObject(object, publicUrl));
    }
  }

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
    const list = await preparedState(feed, "objects", reply, deps, signal);
    let newest = await readNewestVersion(client, feed.id);
    while (!signal.aborted) {
      // Before the first object the event is a second older than its list, so that the first object makes it newer.
      const changedAt = newest.count === 0 ? list.revisedAt - 1_000 : newest.modifiedAt;
      const content: EventContent = { feed, changedAt, objects: () => allObjects(feed.id) };
      const key = [feed.id, changedAt, file].join(" ");
      const cost = feedBodyCost(newest.count, "objects");
      const body = await bodies.get(request, { key, write: () => write(content), cost });
      const { modifiedAt } = newest;
      newest = await readNewestVersion(client, feed.id);
      // Another process may have stored versions while the body was written: then it is of both states.
      if (newest.modifiedAt !== modifiedAt) continue;
      return bodies.send(request, reply, type, body);
    }
    throw new HttpError(503, NOT_PREPARED);
  });
}
