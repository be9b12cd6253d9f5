import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { storedSpanShape } from "../stats/stored-hours.ts";
import { count, texts, timestamp } from "../wire.ts";

const records = z
  .strictObject({
    accepted: count,
    rejected: count,
    ignored: count.describe("Records that are no observations, such as a sensor's own traffic."),
    reasons: z.record(z.string(), count).describe("The rejected records by reason."),
  })
  .meta({ id: "SensorRecords" });

const sensor = z
  .strictObject({
    name: z.string().describe("What people call it: its id, else the label or the id of its key."),
    sensor_id: z.string().describe("Empty for records that name no sensor."),
    is_rest: z.boolean().describe("Whether this stands for all sensors beyond those that are counted by name."),
    source: z.string().describe("How the records came: http, kafka, file, hpfeeds, syslog or simulation."),
    key: z.string().describe("The id of the sensor key that they came with; empty without one."),
    state: z
      .enum(["active", "silent"])
      .describe("silent: it has sent nothing for twice as long as its longest pause of the last seven days."),
    last_seen: timestamp.describe("When its last record was handled, whatever became of it."),
    formats: texts,
    accepted_per_hour: z.number().min(0).describe("Over the last 24 hours."),
    today: records.describe("Since 00:00 UTC."),
    seven_days: records,
  })
  .meta({ id: "Sensor" });

const EXAMPLE_RECORDS = { accepted: 1_204, rejected: 3, ignored: 12, reasons: { "unknown-tag": 3 } };
export const KEY_NEEDED = 'Sensors are shown to keys of workspaces only: send one in the header "key"';

/** `GET /v3/sensors`: what the sensors have sent. */
export const listSensors = defineOperation({
  id: "listSensors",
  method: "GET",
  path: "/v3/sensors",
  group: "Sensors",
  summary: "The sensors of the last seven days: how much of what they sent was accepted, and which are silent",
  description:
    "A workspace sees what sensors sent to its personal data, and with the entitlement `sensors` also what they sent to " +
    "the shared datasets. Counts show within ten seconds. Does not count as a lookup.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The sensors, by source, key and id.",
    schema: z
      .strictObject({
        sensors: z.array(sensor),
        metadata: z.strictObject({
          ...storedSpanShape,
          lag: z
            .array(
              z
                .strictObject({
                  topic: z.string(),
                  messages: count.describe("How many the intake had still to read."),
                  at: timestamp.describe("When it saw that. It looks every ten seconds."),
                })
                .meta({ id: "ConsumerLag" }),
            )
            .describe("Of each Kafka topic of the intake, for callers with the entitlement `sensors`."),
        }),
      })
      .meta({ id: "SensorList" }),
    example: {
      sensors: [
        {
          name: "berlin-1",
          sensor_id: "berlin-1",
          is_rest: false,
          source: "http",
          key: "4f6ce1c0",
          state: "active",
          last_seen: "2026-11-20T14:03:07Z",
          formats: ["cowrie"],
          accepted_per_hour: 85.5,
          today: EXAMPLE_RECORDS,
          seven_days: { ...EXAMPLE_RECORDS, accepted: 14_364 },
        },
      ],
      metadata: {
        stored_from: "2026-08-12T15:00:00Z",
        stored_to: "2026-11-20T15:00:00Z",
        lag: [{ topic: "scan.observations", messages: 0, at: "2026-11-20T14:03:02Z" }],
      },
    },
  },
  errorResponses: { 403: errorResponse("The caller has no key.", KEY_NEEDED) },
});
