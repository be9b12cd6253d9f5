import { UUID_PATTERN } from "@noisefloor/domain/tags/tag.ts";
import { pageToken } from "@noisefloor/http/requests/page-token.ts";
import { type Parameter, type RawQuery, readParameter, text } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { z } from "zod";
import { IDENTITY } from "../objects/indicator.ts";

const MAX_LIMIT = 1_000;
const INDICATOR = "indicator";
const LAST_ADDRESS = 0xffffffff;
/** Later than any version, and a time that the store can compare with. */
const MAX_TIME = Date.UTC(2100, 0);

export const ADDED_AFTER = text({
  name: "added_after",
  description: "Only versions that were added later, as `X-TAXII-Date-Added-Last` says it.",
  example: "2026-11-20T14:05:00.000Z",
});
export const LIMIT: Parameter<number> = {
  name: "limit",
  description: `How many objects a page has at most. A limit above ${MAX_LIMIT} is cut to it.`,
  takes: "a whole number from 1 on",
  schema: z
    .string()
    .regex(/^[1-9]\d*$/)
    .transform((digits) => Math.min(Number(digits), MAX_LIMIT))
    .pipe(z.int().min(1))
    .default(MAX_LIMIT),
  describedBy: "output",
  example: String(MAX_LIMIT),
};
const match = (name: string, example: string) =>
  text({ name: `match[${name}]`, description: "A list with commas: objects that match one of them.", example });
const MATCH_ID = match("id", "indicator--3ae0b0a2-7289-5fda-8a85-02d057ba0968");
const MATCH_TYPE = match("type", INDICATOR);
const MATCH_VERSION = match("version", "last");
const MATCH_SPEC_VERSION = match("spec_version", "2.1");
export const MATCHES = [MATCH_ID, MATCH_TYPE, MATCH_VERSION, MATCH_SPEC_VERSION] as const;

const requestSchema = z.strictObject({
  /** The id of the feed. */
  collection: z.string(),
  /** Where its first page began, in milliseconds since 1970 UTC; undefined for the beginning. */
  addedAfter: z.int().min(0).max(MAX_TIME).optional(),
  /** The last version that was answered. Milliseconds since 1970 UTC. */
  modifiedAt: z.int().min(0).max(MAX_TIME),
  address: z.int().min(0).max(LAST_ADDRESS),
  /** Revocations up to this time are left out; undefined where it is the time of the first page. */
  revokedAfter: z.int().min(0).max(MAX_TIME).optional(),
  hasIdentity: z.boolean(),
  hasIndicators: z.boolean(),
  /** UUIDs of indicators; empty for all. */
  ids: z.array(z.string().regex(UUID_PATTERN)),
  /** Times of versions; empty for all. */
  versions: z.array(z.int()),
});
/** Which objects a page has, and after which version it begins. */
export type PageRequest = z.infer<typeof requestSchema>;

export const NEXT = pageToken({
  name: "next",
  takes: "the next of an earlier page",
  description:
    "The `next` of the page before, which says all that its request did. That of another collection begins this one.",
  example: "eyJwb3NpdGlvbiI6eyJj",
  position: requestSchema,
});

const listOf = (text: string | undefined) => text?.split(",").map((part) => part.trim());

/** @throws HttpError 400 for a text that is not a time. */
function parseTime(text: string, name: string): number {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return Date.parse(text);
  throw new HttpError(400, `Invalid parameter: ${name} takes a time such as 2026-11-20T14:05:00.000Z`);
}

/**
 * What a request asks a collection for. Some clients send the `next` of one collection to the following one, without
 * the `added_after` that they began with: that `next` has it.
 * @param objectId the one object that its path names.
 * @throws HttpError 400 for a wrong parameter.
 */
export function readPageRequest(query: RawQuery, collection: string, objectId?: string): PageRequest {
  const before = NEXT.read(query);
  if (before?.collection === collection) return before;
  const since = readParameter(query, ADDED_AFTER);
  const addedAfter =
    since === undefined ? before?.addedAfter : Math.min(Math.max(parseTime(since, ADDED_AFTER.name), 0), MAX_TIME);
  const objectIds = objectId === undefined ? listOf(readParameter(query, MATCH_ID)) : [objectId];
  const types = listOf(readParameter(query, MATCH_TYPE));
  const versions = listOf(readParameter(query, MATCH_VERSION)) ?? [];
  const isOfVersion = listOf(readParameter(query, MATCH_SPEC_VERSION))?.includes("2.1") ?? true;
  const ids = objectIds?.flatMap((id) => {
    const uuid = id.slice(`${INDICATOR}--`.length);
    return id.startsWith(`${INDICATOR}--`) && UUID_PATTERN.test(uuid) ? uuid.toLowerCase() : [];
  });
  // Objects keep their latest version alone, so the first and the last are the same.
  const times = versions.filter((version) => !["first", "last", "all"].includes(version));
  const isAnyVersion = times.length < versions.length || versions.length === 0;
  const versionTimes = isAnyVersion ? [] : times.map((version) => parseTime(version, MATCH_VERSION.name));
  const isOfType = (type: string) => types?.includes(type) ?? true;
  const identityVersion = isAnyVersion || versionTimes.includes(Date.parse(IDENTITY.modified));
  return {
    collection,
    modifiedAt: addedAfter ?? 0,
    address: addedAfter === undefined ? 0 : LAST_ADDRESS,
    ...(addedAfter === undefined ? {} : { addedAfter, revokedAfter: 0 }),
    hasIdentity:
      isOfVersion &&
      identityVersion &&
      isOfType("identity") &&
      (objectIds?.includes(IDENTITY.id) ?? true) &&
      (addedAfter === undefined || addedAfter < Date.parse(IDENTITY.created)),
    hasIndicators: isOfVersion && isOfType(INDICATOR) && (ids === undefined || ids.length > 0),
    ids: ids ?? [],
    versions: versionTimes,
  };
}
