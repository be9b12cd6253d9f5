import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import type { IncomingRecord } from "../record.ts";
import { observationsFormat } from "./observations.ts";
import { explainOtherFormat } from "./recognize.ts";
import { explainTime } from "./times.ts";

/** A rejection with what the formats know of its record. @param value what was read out of it. */
export function explainRejection(
  rejection: Rejection,
  record: Pick<IncomingRecord, "format" | "isZoneless">,
  value: unknown,
  now: number,
): Rejection {
  const { reason, detail } = rejection;
  const remedy = record.isZoneless ? ZONE_REMEDY : record.format === "cowrie" ? COWRIE_REMEDY : undefined;
  if (reason === "in-the-future" && remedy !== undefined && isWithinZones(value, now)) {
    return { reason, detail: `most likely it is local time: ${remedy} (${detail})` };
  }
  if (reason !== "invalid-observation") return rejection;
  // Senders forget to name a sensor's own format: the first member that the wire schema lacks would not tell them.
  const other = record.format === undefined ? explainOtherFormat(observationsFormat, value) : undefined;
  if (other !== undefined) return { reason, detail: `${other} (${detail})` };
  const isTime = record.format !== undefined && detail.startsWith("observed_at: ");
  return isTime ? { reason, detail: `observed_at: ${explainTime(timeOf(value))}` } : rejection;
}

const ZONE_REMEDY =
  "it names no zone and was read as UTC; SENSOR_TIME_ZONES or replay --time-zone names the sensor's zone";
const COWRIE_REMEDY = "Cowrie 3.1 writes it with a Z all the same, unless its process has TZ=UTC in its environment";
/** The zone farthest ahead of UTC, and the clocks' difference. */
const MOST_AHEAD_MS = 14.25 * 3_600_000;

function isWithinZones(value: unknown, now: number): boolean {
  return Date.parse(String(timeOf(value))) - now <= MOST_AHEAD_MS;
}

const timeOf = (value: unknown) =>
  typeof value === "object" && value !== null && "observed_at" in value ? value.observed_at : undefined;
