import { readAddressesOfIds } from "@noisefloor/clickhouse/feeds/first-listed.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FeedObject } from "../feed-content.ts";
import { readObjects, readRevoked } from "../objects/feed-objects.ts";
import { IDENTITY, toIndicator } from "../objects/indicator.ts";
import { indexObjects, NO_OBJECTS, nextObjects, selectObjects } from "../objects/object-index.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { preparedState } from "../requests/prepared-state.ts";
import { readerOf } from "../requests/readers.ts";
import {
  API_ROOT,
  discoverTaxii,
  getCollection,
  getObject,
  getTaxiiRoot,
  listCollections,
  listManifest,
  listObjects,
  STIX_TYPE,
  TAXII_TYPE,
} from "./operations.ts";
import { LIMIT, NEXT, type PageRequest, readPageRequest } from "./page.ts";

/** Whether an `Accept` leaves room for TAXII 2.1. */
function isAcceptable(accept = "*/*"): boolean {
  return accept.split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const isTaxii = ["*/*", "application/*", "application/taxii+json"].includes(type);
    const isOther = parameters.some((parameter) => /^(?:version=(?!"?2\.1"?$)|q=0(?:\.0*)?$)/.test(parameter));
    return isTaxii && !isOther;
  });
}

type Page = {
  /** Its versions are newer than this, in milliseconds since 1970 UTC. */
  readonly after: number;
  readonly hasIdentity: boolean;
  readonly objects: readonly FeedObject[];
  /** The request of the page that follows. */
  readonly next: PageRequest | undefined;
};

/** What the response of a page goes to, and when it is no longer wanted. */
type PageContext = { readonly reply: FastifyReply; readonly signal: AbortSignal };

/** TAXII 2.1: each feed is a collection of indicators. */
export function registerTaxii(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, client, publicUrl } = deps;
  const root = `${publicUrl}${API_ROOT}`;

  /** The feeds that the caller may read. @throws HttpError 401 or 406. */
  const readableFeeds = (request: FastifyRequest): readonly Feed[] => {
    const { workspaceId, feedId } = readerOf(request, deps);
    if (!isAcceptable(request.headers.accept)) throw new HttpError(406, `The answer is ${TAXII_TYPE}`);
    if (feedId !== undefined) {
      const feed = feeds.ofToken(workspaceId, feedId);
      return feed?.isEnabled ? [feed] : [];
    }
    return feeds.ofWorkspace(workspaceId).filter(({ isEnabled }) => isEnabled);
  };
  const readableFeed = (request: FastifyRequest, id: string): Feed => {
    const feed = readableFeeds(request).find((each) => each.id === id);
    if (feed === undefined) throw new HttpError(404, "Collection not found");
    return feed;
  };

  const readPage = async (feed: Feed, query: RawQuery, context: PageContext, objectId?: string): Promise<Page> => {
    const limit = readParameter(query, LIMIT);
    const request = readPageRequest(query, feed.id, objectId);
    const state = await preparedState(feed, context.reply, deps, context.signal);
    const { hasIdentity, hasIndicators, modifiedAt, address, ids, versions } = request;
    // A consumer that begins now never had those that left before.
    const { revokedAfter = state.head.revisedAt } = request;
    const room = hasIdentity ? limit - 1 : limit;
    const revoked = await readRevoked(state, Math.max(revokedAfter, modifiedAt - 1), client);
    const index = hasIndicators ? indexObjects(state, revoked) : indexObjects(NO_OBJECTS, NO_OBJECTS);
    const chosenAddresses = ids.length === 0 ? undefined : await readAddressesOfIds(client, ids);
    const isWanted = (each: number, version: number) =>
      (versions.length === 0 || versions.includes(version * 1_000)) && (chosenAddresses?.has(each) ?? true);
    const places = nextObjects(index, { modifiedAt, address }, room + 1, isWanted);
    const chosen = selectObjects(index, places.subarray(0, room));
    const objects: FeedObject[] = [];
    for await (const block of readObjects(chosen, feed, state.head.listedAt, deps, context.signal)) {
      objects.push(...block);
    }
    const last = objects.at(-1);
    const position = last && { modifiedAt: last.modifiedAt.getTime(), address: ipv4ToNumber(last.ip) };
    const next = places.length > room ? { ...request, revokedAfter, ...position, hasIdentity: false } : undefined;
    return { after: modifiedAt, hasIdentity, objects, next };
  };
  /** What a page says beside its objects. */
  const finishPage = ({ after, hasIdentity, objects, next }: Page, reply: FastifyReply) => {
    const added = [...(hasIdentity ? [IDENTITY.created] : []), ...objects.map(addedAt)];
    const unchanged = after === 0 ? IDENTITY.created : new Date(after).toISOString();
    reply.header("x-taxii-date-added-first", added[0] ?? unchanged);
    reply.header("x-taxii-date-added-last", added.at(-1) ?? unchanged);
    return { more: next !== undefined, ...(next === undefined ? {} : { next: NEXT.format(next) }) };
  };
  const stixOf = ({ hasIdentity, objects }: Page) => [...(hasIdentity ? [IDENTITY] : []), ...objects.map(toIndicator)];

  app.implement(discoverTaxii, async (request) => {
    readableFeeds(request);
    return { title: "Noisefloor", default: root, api_roots: [root] };
  });
  app.implement(getTaxiiRoot, async (request) => {
    readableFeeds(request);
    return { title: "Noisefloor", versions: [TAXII_TYPE], max_content_length: 1_048_576 };
  });
  app.implement(listCollections, async (request) => ({
    collections: readableFeeds(request).map(toCollection),
  }));
  app.implement(getCollection, async (request) => toCollection(readableFeed(request, request.params.id)));

  app.implement(listObjects, async (request, reply, { signal }) => {
    const page = await readPage(readableFeed(request, request.params.id), request.query, { reply, signal });
    const paging = finishPage(page, reply);
    const objects = stixOf(page);
    return objects.length === 0 ? paging : { ...paging, objects };
  });
  app.implement(getObject, async (request, reply, { signal }) => {
    const { id, object } = request.params;
    const page = await readPage(readableFeed(request, id), request.query, { reply, signal }, object);
    const objects = stixOf(page);
    if (objects.length === 0) throw new HttpError(404, "Object not found");
    return { ...finishPage(page, reply), objects };
  });
  app.implement(listManifest, async (request, reply, { signal }) => {
    const page = await readPage(readableFeed(request, request.params.id), request.query, { reply, signal });
    const paging = finishPage(page, reply);
    const entries = page.objects.map((object) => toEntry(`indicator--${object.id}`, addedAt(object)));
    const objects = [...(page.hasIdentity ? [toEntry(IDENTITY.id, IDENTITY.created)] : []), ...entries];
    return objects.length === 0 ? paging : { ...paging, objects };
  });
}

const addedAt = ({ modifiedAt }: FeedObject) => modifiedAt.toISOString();

function toEntry(id: string, added: string) {
  return { id, date_added: added, version: added, media_type: STIX_TYPE };
}

function toCollection({ id, name, description }: Feed) {
  return {
    id,
    title: name,
    ...(description === "" ? {} : { description }),
    can_read: true as const,
    can_write: false as const,
    media_types: [STIX_TYPE],
  };
}
