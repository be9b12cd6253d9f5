import { type FollowedFile, lagOf, SHOWN_STATES } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { readSenders, type SensorKeys, sensorKeyOf } from "../http/senders.ts";

const fileSchema = z
  .strictObject({
    path: z.string(),
    sensor: z.string().describe("Of all its records; empty where they say it."),
    format: z.string(),
    size: z.int().min(0).describe("Bytes on disk."),
    position: z.int().min(0).describe("Up to here everything is stored: bytes, unpacked."),
    lag_bytes: z.int().min(0).describe("Bytes on disk that are not stored yet."),
    last_record_at: z.string().optional().describe("When records of it were stored last; missing before the first."),
    state: z.enum(SHOWN_STATES),
    detail: z.string().describe("Why it is not followed; else empty."),
  })
  .meta({ id: "FollowedFile" });

/** `GET /v3/followed`: the files that grow, and how far each is stored. */
export const getFollowed = defineOperation({
  id: "getFollowed",
  method: "GET",
  path: "/v3/followed",
  keyOf: "sensor",
  group: "Intake",
  summary: "How far followed files are stored",
  description: "The files that this process follows (`FOLLOW`, `TPOT_DATA`), by path. A workspace's key will do, too.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The files.",
    schema: z.strictObject({ files: z.array(fileSchema) }),
    example: {
      files: [
        {
          path: "/var/log/cowrie/cowrie.json",
          sensor: "",
          format: "auto",
          size: 48_213,
          position: 48_213,
          lag_bytes: 0,
          last_record_at: "2026-11-20T14:03:10Z",
          state: "following",
          detail: "",
        },
      ],
    },
  },
  errorResponses: {},
});

type FollowedOptions = SensorKeys & { readonly files: () => readonly FollowedFile[] };

export function registerFollowed(app: FastifyInstance, options: FollowedOptions): void {
  const senderOf = readSenders(options);
  app.implement(getFollowed, async (request) => {
    if (options.accessCache.callerOf(sensorKeyOf(request)) === undefined) await senderOf(request);
    const files = options.files().flatMap(toJson);
    return { files: files.sort((one, other) => (one.path < other.path ? -1 : 1)) };
  });
}

function toJson(file: FollowedFile) {
  const { path, sensor, format, size, position, lastRecordAt, state, detail } = file;
  if (state === "gone") return [];
  const last_record_at = lastRecordAt > 0 ? formatTimestamp(lastRecordAt) : undefined;
  return [{ path, sensor, format, size, position, lag_bytes: lagOf(file), last_record_at, state, detail }];
}
