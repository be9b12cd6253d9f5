import { sizeOfChanges } from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, type PathParameter, readParameter, text } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { feedBodyCost } from "../../costs.ts";
import { MAX_ITEMS_AGE_MS } from "../bodies/bodies.ts";
import { formatCursor, parseCursor } from "../cursor.ts";
import type { FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { FORMS } from "../forms/forms.ts";
import { type FeedState, sizeOfList } from "../lists/feed-state.ts";
import { readItems } from "../lists/items.ts";
import { indexChanges, readObjects } from "../objects/feed-objects.ts";
import { indexObjects, NO_OBJECTS, type ObjectIndex } from "../objects/object-index.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { NOT_PREPARED, preparedState } from "../requests/prepared-state.ts";
import { readableFeed, readerOf } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";

const NAMES = FORMS.map(({ name }) => name);
const FORM: PathParameter = {
  schema: z.string(),
  description: `One of ${NAMES.join(", ")}.`,
  errorMessage: "Invalid parameter: form",
  example: "txt",
};
const SINCE = text({
  name: "since",
  description: "The `Feed-Cursor` of an earlier answer: only what has changed since then.",
  example: "q83vASNFZ4mrze8BI0VniQ",
});
const TOKEN = text({
  name: "token",
  description: "A token of the feed, for clients that can send no header.",
  example: "nff_...",
});

/** Those of all forms, each name once: as the first form takes it, where another takes fewer values. */
const FORM_PARAMETERS: readonly Parameter<unknown>[] = FORMS.flatMap(({ parameters }) => parameters).filter(
  ({ name }, index, all) => all.findIndex((one) => one.name === name) === index,
);
const NO_NAMES = "This form lists names, which only a feed of callbacks has";
const TOO_OLD = "This cursor is older than the changes that are kept: ask without since";

/** `GET /v3/feeds/{name}.{form}`: the list. */
export const getFeedList = defineOperation({
  ...FEEDS,
  id: "getFeedList",
  method: "GET",
  path: "/v3/feeds/{name}.{form}",
  summary: "The hosts of a feed, in the form that a consumer reads",
  description:
    "All forms of a feed list the same addresses, and those that can say them the same names. With the `ETag` of an earlier answer in `If-None-Match`, an unchanged list is a 304 without a body.",
  pathParameters: { name: FEED_NAME, form: FORM },
  queryParameters: [SINCE, TOKEN, ...FORM_PARAMETERS],
  success: {
    status: 200,
    description: "The list, or what has changed in it.",
    mediaType: "text/plain",
    schema: z.string(),
    example: "192.175.48.6\n",
    otherMediaTypes: Object.fromEntries(
      FORMS.map(({ contentType }) => [contentType.split(";")[0] ?? contentType, ""] as const).filter(
        ([type]) => type !== "text/plain",
      ),
    ),
    textHeaders: {
      ETag: "A strong one: the same as long as the content is.",
      "Feed-Cursor": "Names the list, in all forms: the value of `since` in a later request.",
      "Feed-Fell-From":
        "How many hosts the list had before it lost half of them, or all, at one refresh, in the last day.",
      "Feed-Truncated": "`true` where there are more than the feed's limit: those seen, or named, last are listed.",
    },
  },
  errorResponses: {
    400: errorResponse(
      "A parameter is invalid, the form has no changes, or it is one of names and the feed has none.",
      "This form has no since",
    ),
    401: UNAUTHORIZED,
    403: errorResponse("The token is of another feed.", "This token reads another feed"),
    404: { ...FEED_NOT_FOUND, description: "The workspace has no such feed, or feeds have no such form." },
    410: errorResponse("The feed is disabled or was deleted, or the cursor is too old.", TOO_OLD),
    503: errorResponse("There is no list yet, or the store cannot be reached.", NOT_PREPARED),
  },
});

export function registerFeedList(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, bodies } = deps;

  app.implement(getFeedList, async (request, reply, { signal }) => {
    const feed = readableFeed(feeds, request.params.name, readerOf(request, deps));
    const form = FORMS.find(({ name }) => name === request.params.form);
    if (form === undefined) throw new HttpError(404, `No form has this name: the forms are ${NAMES.join(", ")}`);
    if (form.of !== undefined && form.of !== feed.of) throw new HttpError(400, NO_NAMES);
    for (const parameter of FORM_PARAMETERS) {
      const isOfForm = form.parameters.some(({ name }) => name === parameter.name);
      if (!isOfForm) readParameter(request.query, parameter);
    }
    const writer = form.open(request.query);
    const since = readParameter(request.query, SINCE);
    const cursor = since === undefined ? undefined : parseCursor(since);
    if (cursor !== undefined && writer.writeChanges === undefined) throw new HttpError(400, "This form has no since");
    const state = await preparedState(feed, reply, deps, signal);
    const head = headOf(feed, state);
    const content = [
      feed.id,
      feed.updatedAt,
      head.cursor,
      head.truncated,
      form.reads === "objects" && state.head.revision,
    ];
    const key = [...content, form.name, writer.variant, since ?? ""].join(" ");
    const { write, size } = await contentOf(state, cursor, since ?? "", head, writer);
    const cost = feedBodyCost(size, form.reads);
    const maxAgeMs = form.reads === "hosts" ? undefined : MAX_ITEMS_AGE_MS;
    const body = await bodies.get(request, { key, write, cost, maxAgeMs });
    reply.header("feed-cursor", head.cursor);
    if (head.truncated) reply.header("feed-truncated", "true");
    if (state.head.fellFrom > 0) reply.header("feed-fell-from", state.head.fellFrom);
    return bodies.send(request, reply, form.contentType, body);
  });

  const contentOf = async (
    state: FeedState,
    cursor: string | undefined,
    since: string,
    feed: FeedHead,
    writer: ReturnType<Form["open"]>,
  ) => {
    const itemsOf = (addresses: Uint32Array, names: readonly string[]) => () =>
      readItems({ of: feed.of, addresses, names }, state.head.listedAt, deps, AbortSignal.timeout(app.deadlineMs));
    const objectsOf = (index: ObjectIndex) =>
      readObjects(index, feed, state.head.listedAt, deps, AbortSignal.timeout(app.deadlineMs));
    if (cursor === undefined) {
      const { addresses, names } = state;
      const objects = () => objectsOf(indexObjects(state, NO_OBJECTS));
      const write = () => writer.writeList({ feed, addresses, names, items: itemsOf(addresses, names), objects });
      return { write, size: sizeOfList(state) };
    }
    const changes = await feeds.lists.changesSince(state, cursor);
    if (changes === undefined) throw new HttpError(410, TOO_OLD);
    const objects = async function* () {
      yield* objectsOf(await indexChanges(state, cursor, changes, deps.client));
    };
    const write = () =>
      writer.writeChanges?.({ feed, since, ...changes, items: itemsOf(changes.added, changes.addedNames), objects }) ??
      [];
    return { write, size: sizeOfChanges(changes) };
  };
}

function headOf(feed: Feed, { head }: FeedState): FeedHead {
  return {
    id: feed.id,
    name: feed.name,
    of: feed.of,
    description: feed.description,
    cursor: formatCursor(head.list),
    listedAt: new Date(head.listedAt),
    count: head.count,
    truncated: head.isTruncated,
    ttlHours: feed.ttlHours,
  };
}
