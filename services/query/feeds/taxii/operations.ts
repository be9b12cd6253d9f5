import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { texts, uuid } from "../../wire.ts";
import { UNAUTHORIZED } from "../requests/wire-feed.ts";
import { ADDED_AFTER, LIMIT, MATCHES, NEXT } from "./page.ts";

/** taxii2-client takes this spelling alone. */
export const TAXII_TYPE = "application/taxii+json;version=2.1";
export const STIX_TYPE = "application/stix+json;version=2.1";
/** The path of the one API root. */
export const API_ROOT = "/taxii2/root/";

const TAXII = { group: "TAXII", method: "GET", pathParameters: {}, queryParameters: [] } as const;
const NOT_ACCEPTABLE = errorResponse("`Accept` excludes TAXII 2.1.", `The answer is ${TAXII_TYPE}`);
const NO_COLLECTION = errorResponse("The caller may read no such collection.", "Collection not found");
const NO_OBJECT = errorResponse("The collection has no such object.", "Object not found");
const ERRORS = { 401: UNAUTHORIZED, 406: NOT_ACCEPTABLE } as const;
const COLLECTION_ERRORS = { ...ERRORS, 404: NO_COLLECTION } as const;
const PAGE_ERRORS = { ...COLLECTION_ERRORS, 503: errorResponse("There is no list yet.", "The feed is not prepared") };

const COLLECTION: PathParameter = {
  schema: z.string(),
  description: "The id of a feed.",
  errorMessage: "Collection not found",
  example: "8a55b4b0-8b8e-5b52-9e5a-6f1c0d0c8a11",
};
const OBJECT: PathParameter = {
  schema: z.string(),
  description: "The STIX id of an object.",
  errorMessage: "Object not found",
  example: "indicator--3ae0b0a2-7289-5fda-8a85-02d057ba0968",
};

/** `GET /taxii2/`. */
export const discoverTaxii = defineOperation({
  ...TAXII,
  id: "discoverTaxii",
  path: "/taxii2/",
  summary: "The TAXII 2.1 server: where its API root is",
  success: {
    status: 200,
    description: "The one API root.",
    mediaType: TAXII_TYPE,
    schema: z.strictObject({ title: z.string(), default: z.url(), api_roots: texts }).meta({ id: "TaxiiDiscovery" }),
    example: {
      title: "Noisefloor",
      default: "https://noisefloor.example.org/taxii2/root/",
      api_roots: ["https://noisefloor.example.org/taxii2/root/"],
    },
  },
  errorResponses: ERRORS,
});

/** `GET /taxii2/root/`. */
export const getTaxiiRoot = defineOperation({
  ...TAXII,
  id: "getTaxiiRoot",
  path: API_ROOT,
  summary: "The API root: which versions it speaks",
  success: {
    status: 200,
    description: "It takes no objects.",
    mediaType: TAXII_TYPE,
    schema: z
      .strictObject({ title: z.string(), versions: texts, max_content_length: z.int() })
      .meta({ id: "TaxiiRoot" }),
    example: { title: "Noisefloor", versions: [TAXII_TYPE], max_content_length: 1_048_576 },
  },
  errorResponses: ERRORS,
});

const collectionSchema = z
  .strictObject({
    id: uuid,
    title: z.string(),
    description: z.string().optional(),
    can_read: z.literal(true),
    can_write: z.literal(false),
    media_types: texts,
  })
  .meta({ id: "TaxiiCollection" });
const EXAMPLE_COLLECTION = {
  id: COLLECTION.example,
  title: "ssh-bruteforce",
  can_read: true,
  can_write: false,
  media_types: [STIX_TYPE],
};

/** `GET /taxii2/root/collections/`. */
export const listCollections = defineOperation({
  ...TAXII,
  id: "listTaxiiCollections",
  path: `${API_ROOT}collections/`,
  summary: "The feeds that the caller may read, as collections",
  success: {
    status: 200,
    description: "Of a token, its feed alone.",
    mediaType: TAXII_TYPE,
    schema: z.strictObject({ collections: z.array(collectionSchema) }).meta({ id: "TaxiiCollections" }),
    example: { collections: [EXAMPLE_COLLECTION] },
  },
  errorResponses: ERRORS,
});

/** `GET /taxii2/root/collections/{id}/`. */
export const getCollection = defineOperation({
  ...TAXII,
  id: "getTaxiiCollection",
  path: `${API_ROOT}collections/{id}/`,
  summary: "A feed as a collection",
  pathParameters: { id: COLLECTION },
  success: {
    status: 200,
    description: "The collection.",
    mediaType: TAXII_TYPE,
    schema: collectionSchema,
    example: EXAMPLE_COLLECTION,
  },
  errorResponses: COLLECTION_ERRORS,
});

const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ more: z.boolean(), next: z.string().optional(), objects: z.array(item).optional() });
const objectSchema = z.looseObject({ type: z.string(), id: z.string() }).meta({ id: "StixObject" });
const envelopeSchema = pageOf(objectSchema).meta({ id: "TaxiiEnvelope" });
const manifestSchema = pageOf(
  z.strictObject({ id: z.string(), date_added: z.string(), version: z.string(), media_type: z.string() }),
).meta({ id: "TaxiiManifest" });
const ADDED = {
  "X-TAXII-Date-Added-First": "When the first object of the page was added.",
  "X-TAXII-Date-Added-Last": "When the last one was: `added_after` for what is newer.",
};
const EXAMPLE_ENVELOPE = { more: false, objects: [{ type: "indicator", id: OBJECT.example }] };
const EXAMPLE_MANIFEST = {
  more: false,
  objects: [
    {
      id: OBJECT.example,
      date_added: "2026-11-20T14:05:00.000Z",
      version: "2026-11-20T14:05:00.000Z",
      media_type: STIX_TYPE,
    },
  ],
};

const PAGE = {
  ...TAXII,
  queryParameters: [ADDED_AFTER, LIMIT, NEXT.parameter, ...MATCHES],
  errorResponses: PAGE_ERRORS,
} as const;
const ENVELOPE = { status: 200, mediaType: TAXII_TYPE, schema: envelopeSchema, example: EXAMPLE_ENVELOPE } as const;

/** `GET /taxii2/root/collections/{id}/objects/`. */
export const listObjects = defineOperation({
  ...PAGE,
  id: "listTaxiiObjects",
  path: `${API_ROOT}collections/{id}/objects/`,
  summary: "Indicators of a feed in the order in which their versions were added",
  pathParameters: { id: COLLECTION },
  success: { ...ENVELOPE, description: "A page, which is full unless it is the last.", textHeaders: ADDED },
});

/** `GET /taxii2/root/collections/{id}/objects/{object}/`. */
export const getObject = defineOperation({
  ...PAGE,
  id: "getTaxiiObject",
  path: `${API_ROOT}collections/{id}/objects/{object}/`,
  summary: "One object of a feed",
  pathParameters: { id: COLLECTION, object: OBJECT },
  success: { ...ENVELOPE, description: "Its latest version.", textHeaders: ADDED },
  errorResponses: { ...PAGE_ERRORS, 404: NO_OBJECT },
});

/** `GET /taxii2/root/collections/{id}/manifest/`. */
export const listManifest = defineOperation({
  ...PAGE,
  id: "listTaxiiManifest",
  path: `${API_ROOT}collections/{id}/manifest/`,
  summary: "What objects a feed has, without the objects",
  pathParameters: { id: COLLECTION },
  success: {
    status: 200,
    description: "A page as of the objects.",
    mediaType: TAXII_TYPE,
    schema: manifestSchema,
    example: EXAMPLE_MANIFEST,
    textHeaders: ADDED,
  },
});
