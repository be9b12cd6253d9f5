import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { ADDRESS, WORKSPACE_LABELS } from "../../parameters.ts";
import { BAD_ADDRESS, count, ip, NOT_ENTITLED, none, texts, timestamp } from "../../wire.ts";
import { CALLBACKS } from "../operation.ts";
import { filterSchema, pageSchema } from "./filter.ts";
import { MAX_LISTED } from "./queries.ts";

export const NOT_SEEN = "Callback IP not found";

const noNumber = z.literal(0).describe("Always 0: no data source.");
const noText = none.describe("Always empty: no data source.");

const fileSchema = z
  .strictObject({
    sha256: z.string(),
    file_name: z.string().describe("The last part of the path that it was fetched from."),
    type: z.string().describe("The media type that its name says; else empty."),
    vt_threat_name: noText,
    vt_detection_count: noNumber,
  })
  .meta({ id: "CallbackFile" });
const activeFileSchema = z
  .strictObject({
    ...{ sha256: z.string(), md5: noText, sha1: noText, threat_name: noText },
    ...{
      vt_detection_count: noNumber,
      vt_engine_count: noNumber,
      file_name: z.string(),
      size: noNumber,
      type: z.string(),
    },
  })
  .meta({ id: "CallbackActiveFile" });

const itemSchema = z
  .strictObject({
    ip,
    source_workspaces: texts.describe("Always empty: workspaces are not told."),
    is_stage_1: z.literal(true).describe("Always true: visitors told sensors to fetch from it, or to connect to it."),
    is_stage_2: z.literal(false).describe("Always false: no data source."),
    first_seen: timestamp,
    last_seen: timestamp,
    scanner_ips: z.array(ip).describe(`The visitors that named it: the ${MAX_LISTED} seen last, the newest first.`),
    scanner_count: count.describe("How many visitors named it."),
    file_count: count.describe("How many files are known to have been fetched from it."),
    files: z.array(fileSchema).describe(`The ${MAX_LISTED} seen last, the newest first.`),
  })
  .meta({ id: "CallbackAddress" });
export type CallbackItem = z.output<typeof itemSchema>;

const detailSchema = itemSchema
  .extend({ active_files: z.array(activeFileSchema).describe("The same as `files`, with other members.") })
  .meta({ id: "CallbackAddressDetail" });

const EXAMPLE_FILE = {
  ...{ sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", file_name: "bins.sh" },
  ...{ type: "text/x-shellscript", vt_threat_name: "" as const, vt_detection_count: 0 as const },
};
const EXAMPLE_ITEM: CallbackItem = {
  ...{ ip: "45.9.148.7", source_workspaces: [], is_stage_1: true, is_stage_2: false },
  ...{ first_seen: "2026-11-20T12:00:00Z", last_seen: "2026-11-21T08:30:00Z" },
  ...{ scanner_ips: ["192.175.48.6"], scanner_count: 1, file_count: 1, files: [EXAMPLE_FILE] },
};
export const CALLBACK_ADDRESS = { ...ADDRESS, example: EXAMPLE_ITEM.ip };

const REACH =
  "Addresses that visitors told sensors to fetch from or to connect to, without well-known ones, as far back as observations are kept and the caller's plan reaches. Names are in `/v3/callbacks`. Does not count as a lookup.";
const HOSTED = { ...CALLBACKS, queryParameters: [WORKSPACE_LABELS] } as const;
const filterBody = <Schema extends z.ZodType>(schema: Schema, example: z.input<Schema>) => ({
  description: "Which of them; it may be left out, and so may each member. Unknown members are ignored.",
  schema,
  example,
});
const errorResponses = {
  400: errorResponse("The body is no such JSON, or a parameter is invalid.", "The request body: has_files is invalid"),
  403: NOT_ENTITLED,
};

/** `POST /v1/callback/ips`. */
export const listCallbackIps = defineOperation({
  ...HOSTED,
  id: "listCallbackIps",
  method: "POST",
  path: "/v1/callback/ips",
  summary: "The addresses of callbacks, page by page",
  description: REACH,
  pathParameters: {},
  body: filterBody(pageSchema, { has_files: true, page: 0 }),
  success: {
    status: 200,
    description: "The last seen first, ties by address.",
    schema: z
      .strictObject({ items: z.array(itemSchema), total: count, page: z.int().min(0), page_size: z.int().min(1) })
      .meta({ id: "CallbackAddresses" }),
    example: { items: [EXAMPLE_ITEM], total: 1, page: 0, page_size: 20 },
  },
  errorResponses,
});

/** `GET /v1/callback/ip/{ip}`. */
export const getCallbackIp = defineOperation({
  ...HOSTED,
  id: "getCallbackIp",
  method: "GET",
  path: "/v1/callback/ip/{ip}",
  summary: "Who named an address as one to fetch from or to connect to",
  description: REACH,
  pathParameters: { ip: CALLBACK_ADDRESS },
  success: {
    status: 200,
    description: "What is known of it.",
    schema: detailSchema,
    example: {
      ...EXAMPLE_ITEM,
      active_files: [
        {
          ...{ sha256: EXAMPLE_FILE.sha256, md5: "", sha1: "", threat_name: "", vt_detection_count: 0 },
          ...{ vt_engine_count: 0, file_name: EXAMPLE_FILE.file_name, size: 0, type: EXAMPLE_FILE.type },
        },
      ],
    },
  },
  errorResponses: { 400: BAD_ADDRESS, 403: NOT_ENTITLED, 404: errorResponse("No visitor named it.", NOT_SEEN) },
});

const OVERVIEW = [
  ...(["total_ips", "stage_1_ips", "stage_2_ips", "total_files", "files_with_vt", "files_without_vt"] as const),
  ...(["total_cross_refs", "total_scanner_links", "ips_with_files", "ips_without_files"] as const),
  ...(["ips_with_scanners", "ips_without_scanners", "distinct_scanners"] as const),
];
const overviewSchema = z
  .strictObject({
    ...{ total_ips: count, stage_1_ips: count, stage_2_ips: noNumber, total_files: count, files_with_vt: noNumber },
    files_without_vt: count,
    total_cross_refs: count.describe("Pairs of an address and a file."),
    total_scanner_links: count.describe("Pairs of an address and a visitor."),
    ...{ ips_with_files: count, ips_without_files: count, ips_with_scanners: count, ips_without_scanners: noNumber },
    distinct_scanners: count,
    top_threat_names: z.array(z.never()).describe("Always empty: no data source."),
  })
  .meta({ id: "CallbackOverview" });

/** `POST /v1/callback/overview`. */
export const getCallbackOverview = defineOperation({
  ...HOSTED,
  id: "getCallbackOverview",
  method: "POST",
  path: "/v1/callback/overview",
  summary: "How many addresses of callbacks, files and visitors there are",
  description: REACH,
  pathParameters: {},
  body: filterBody(filterSchema, { last_seen_after: "2026-11-20" }),
  success: {
    status: 200,
    description: "The numbers.",
    schema: overviewSchema,
    example: { ...Object.fromEntries(OVERVIEW.map((name) => [name, 0])), top_threat_names: [] },
  },
  errorResponses,
});

/** `POST /v1/callback/export-ips`. */
export const exportCallbackIps = defineOperation({
  ...HOSTED,
  id: "exportCallbackIps",
  method: "POST",
  path: "/v1/callback/export-ips",
  summary: "All addresses of callbacks, one a line",
  description: REACH,
  pathParameters: {},
  body: filterBody(filterSchema, { ips: [EXAMPLE_ITEM.ip] }),
  success: {
    status: 200,
    description: "The last seen first, ties by address.",
    mediaType: "text/plain",
    schema: z.string(),
    example: `${EXAMPLE_ITEM.ip}\n`,
  },
  errorResponses,
});

export const HOSTED_CALLBACK_OPERATIONS = [
  listCallbackIps,
  getCallbackIp,
  getCallbackOverview,
  exportCallbackIps,
] as const;
