import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { type JsonArray, JsonBytes, type ToJsonArray } from "@noisefloor/http/response-bodies/response-body.ts";
import { z } from "zod";
import { count, ip, timestamp } from "../wire.ts";
import { type ActivityBucket, MAX_IPS_PER_BUCKET } from "./list-buckets.ts";
import {
  type Activity,
  type ActivityDeps,
  type ActivityQuery,
  type ActivityTotals,
  readTagActivity,
} from "./read-activity.ts";

export const bucketSchema = z
  .strictObject({
    start: timestamp,
    end: timestamp,
    include_start: z.literal(true),
    include_end: z.literal(false),
    timestamp: timestamp.describe("The same as `start`."),
    active_ips: count.describe("Distinct addresses, exactly."),
    ips: z
      .array(ip)
      .max(MAX_IPS_PER_BUCKET)
      .optional()
      .describe(
        "All addresses, ascending; where there are more than the cap, a uniform sample that is the same each time.",
      ),
  })
  .meta({ id: "ActivityBucket" });

type WireBucket = z.input<typeof bucketSchema>;

export type SerializedActivity = ActivityTotals & {
  readonly way: Activity["way"];
  readonly buckets: JsonArray<WireBucket>;
  /** Whether any bucket lists a sample. */
  readonly isTruncated: boolean;
};

/** Reads the activity while its buckets are written to the response's memory. */
export async function serializeActivity(
  query: ActivityQuery,
  deps: ActivityDeps,
  toJsonArray: ToJsonArray,
  signal: AbortSignal,
): Promise<SerializedActivity> {
  // Buckets and totals are read concurrently: when one fails, the other is not needed.
  const failed = new AbortController();
  const needed = AbortSignal.any([signal, failed.signal]);
  let isTruncated = false;
  const toWire = async function* (buckets: AsyncIterable<ActivityBucket>) {
    for await (const bucket of buckets) {
      isTruncated ||= bucket.activeIps > bucket.ips.length;
      yield query.includeIps ? toListedBucket(bucket) : toBucket(bucket);
    }
  };
  try {
    const { way, buckets, totals } = await readTagActivity(query, deps, needed);
    const [array, counted] = await Promise.all([toJsonArray<WireBucket>(toWire(buckets), needed), totals]);
    return { ...counted, way, buckets: array, isTruncated };
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

/** Written to bytes, for its addresses are nearly all of the response. */
function toListedBucket(bucket: ActivityBucket): JsonBytes<WireBucket> {
  const head = `${JSON.stringify(toBucket(bucket)).slice(0, -1)},"ips":`;
  return new JsonBytes(head.length + maxJsonBytes(bucket.ips.length) + 1, (memory, start) => {
    const end = writeJson(bucket.ips, memory, start + memory.write(head, start, "latin1"));
    memory[end] = CLOSING_BRACE;
    return end + 1;
  });
}

function toBucket(bucket: ActivityBucket): WireBucket {
  return {
    start: formatTimestamp(bucket.start),
    end: formatTimestamp(bucket.end),
    include_start: true,
    include_end: false,
    timestamp: formatTimestamp(bucket.start),
    active_ips: bucket.activeIps,
  };
}

/** Bytes of `"255.255.255.255",` */
const MAX_LENGTH = 18;
const [QUOTE, COMMA, OPENING_BRACKET, CLOSING_BRACKET, CLOSING_BRACE] = [0x22, 0x2c, 0x5b, 0x5d, 0x7d];
/** The octets' texts, each with a dot, as numbers of four bytes, the first of which is the lowest. */
const OCTETS = Int32Array.from({ length: 256 }, (_, octet) => Buffer.from(`${octet}.`.padEnd(4)).readInt32LE());
const LENGTHS = Uint8Array.from({ length: 256 }, (_, octet) => `${octet}.`.length);

/** How many bytes {@link writeJson} needs at most. */
export function maxJsonBytes(addresses: number): number {
  return addresses * MAX_LENGTH + 2;
}

/**
 * Writes addresses as a JSON array to memory, from `start` on. A response may have two million of them: to write an
 * octet with its dot as one number takes a fraction of the time that joining texts does.
 * @returns where the array ends.
 */
export function writeJson(addresses: Uint32Array, memory: Buffer, start: number): number {
  const view = new DataView(memory.buffer, memory.byteOffset, memory.length);
  let end = start;
  memory[end++] = OPENING_BRACKET;
  for (let index = 0; index < addresses.length; index++) {
    const address = addresses[index] ?? 0;
    memory[end++] = QUOTE;
    for (let above = 24; above >= 0; above -= 8) {
      const octet = (address >>> above) & 255;
      // Always four bytes: what follows overwrites those after the dot.
      view.setInt32(end, OCTETS[octet] ?? 0, true);
      end += LENGTHS[octet] ?? 0;
    }
    memory[end - 1] = QUOTE;
    memory[end++] = COMMA;
  }
  memory[addresses.length === 0 ? end++ : end - 1] = CLOSING_BRACKET;
  return end;
}
