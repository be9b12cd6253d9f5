import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { formatFinder } from "../../formats/all.ts";
import type { LogFormat } from "../../formats/format.ts";
import { assertFewRecords, openJsonReader, readEvent, readShortText } from "../http/json-reader.ts";
import type { Part } from "../http/records.ts";

/** Labels that name the sensor, and those that may name the format, in the order in which the first counts. */
const SENSOR_LABELS = ["host", "hostname", "instance", "pod"];
const FORMAT_LABELS = ["job", "service_name"];

/**
 * Reads the body of a push to Loki in JSON: streams with labels, and of each the entries, a time and a line.
 * @throws HttpError 400, 413, or 503 when memory is short.
 */
export function readStreams(
  body: unknown,
  formats: readonly LogFormat[],
  reservation: Reservation | undefined,
): Promise<readonly Part[]> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  return runInSteps(readingStreams(body, formatFinder(formats), reservation));
}

function* readingStreams(
  body: Buffer,
  formatsOf: ReturnType<typeof formatFinder>,
  reservation: Reservation | undefined,
): Generator<void, readonly Part[]> {
  const parts: Part[] = [];
  const { members, elements } = openJsonReader();
  const push = yield* members(body, ["streams"]);
  if (push === undefined) throw new HttpError(400, "The request body is no JSON object");
  for (const stream of yield* elements(push.get("streams"))) {
    const ofStream = yield* members(stream, ["stream", "values"]);
    const labels = yield* members(ofStream?.get("stream"), [...SENSOR_LABELS, ...FORMAT_LABELS]);
    const firstOf = (names: readonly string[]) =>
      names.map((name) => readShortText(labels?.get(name))).find((value) => value !== undefined);
    const sensor = firstOf(SENSOR_LABELS);
    const named = formatsOf(firstOf(FORMAT_LABELS));
    for (const entry of yield* elements(ofStream?.get("values"))) {
      const [time, line = entry] = yield* elements(entry);
      const envelope = { sensor, time: readShortText(time) };
      for (const bytes of readEvent(line, reservation)) parts.push({ bytes, envelope, formats: named });
      assertFewRecords(parts);
    }
  }
  return parts;
}
