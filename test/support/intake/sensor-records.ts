import { z } from "zod";

/** What became of a sensor's records, as `sensors list` and `GET /v3/sensors` say it. */
export const sensorRecords = z.object({
  accepted: z.int(),
  rejected: z.int(),
  ignored: z.int(),
  reasons: z.record(z.string(), z.int()),
});
