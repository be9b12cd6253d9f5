import { hash } from "node:crypto";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { Seen } from "../oracle/oracle.ts";
import type { Marked } from "./marked-observations.ts";
import type { Random } from "./random.ts";

const DAY = 24 * 60 * 60 * 1000;
export const PARTITIONS = 6;
const MAX_IN_A_MESSAGE = 20;
/** Stands for the id of an observation without one, which is made from its place in the topic. */
export const NAMED_BY_ITS_PLACE = "by its place";

/** An observation that is published, and its expected row. */
export type KnownEvent = Seen & {
  /** From 0; stored with the observation, to find the event of a row. */
  readonly number: number;
  readonly observationId: string | undefined;
  readonly sensorId: string;
  readonly port: number;
};

export type KnownMessage = { readonly partition: number; readonly value: string; readonly records: number };

/** Stated by the sensors: the service has nothing to fill in. */
const NETWORK = { asn: 64_500, organization: "Network of the tests", country: "BR" };
const NOTHING_MORE = {
  ...NETWORK,
  mark: "",
  transport: undefined,
  method: undefined,
  path: undefined,
  userAgent: undefined,
  ja3: undefined,
  ja4: undefined,
  hassh: undefined,
  city: undefined,
  rdns: undefined,
};

/** An event as an observation of the address oracle. */
export function toMarked(event: KnownEvent): Marked {
  return { ...event, ...NOTHING_MORE, observationId: event.observationId ?? NAMED_BY_ITS_PLACE };
}

/** Random observations of the last days, at least two, out of order, with repeating addresses. */
export function makeEvents(
  random: Random,
  { count, tags, days }: { readonly count: number; readonly tags: readonly Tag[]; readonly days: number },
  now: number,
): KnownEvent[] {
  const population = Math.max(2_000, Math.floor(count / 40));
  return Array.from({ length: count }, (_, number) => {
    const address = random.int(0, population - 1);
    const age = random.chance(0.4) ? random.int(0, 2 * DAY) : random.int(0, days * DAY);
    // Half of all observations carry one of the first two tags.
    const carried = Array.from({ length: random.int(0, 2) }, () =>
      random.pick(random.chance(0.5) ? tags.slice(0, 2) : tags),
    );
    return {
      number,
      observationId: random.chance(0.5) ? `event-${number}` : undefined,
      ip: `45.${address >> 16}.${(address >> 8) & 255}.${address & 255}`,
      at: now - age,
      dataset: random.chance(0.7) ? "global" : "community",
      tagIds: [...new Set(carried.map(({ id }) => id))],
      sensorId: `sensor-${random.int(0, 19)}`,
      port: random.int(1, 65_535),
    };
  });
}

/**
 * The messages that carry some events: single objects, arrays and NDJSON. Every thirtieth event with an id of its own
 * is published twice, in another message and maybe in another partition.
 */
export function* messagesOf(events: readonly KnownEvent[], random: Random): Generator<KnownMessage> {
  const again: KnownEvent[] = [];
  for (let at = 0; at < events.length; ) {
    const many = random.chance(0.5) ? 1 : random.int(2, MAX_IN_A_MESSAGE);
    const together = events.slice(at, at + many);
    at += many;
    for (const event of together) if (event.observationId !== undefined && random.chance(1 / 30)) again.push(event);
    yield { partition: random.int(0, PARTITIONS - 1), value: write(together, random), records: together.length };
  }
  for (let at = 0; at < again.length; at += MAX_IN_A_MESSAGE) {
    const together = again.slice(at, at + MAX_IN_A_MESSAGE);
    yield { partition: random.int(0, PARTITIONS - 1), value: write(together, random), records: together.length };
  }
}

function write(events: readonly KnownEvent[], random: Random): string {
  const lines = events.map((event) => JSON.stringify(toWire(event)));
  if (lines.length === 1 && random.chance(0.9)) return lines[0] ?? "";
  return random.chance(0.5) ? `[${lines.join(",")}]` : lines.join("\n");
}

/** An event as its sensor sends it. */
export function toWire(event: KnownEvent): Record<string, unknown> {
  return {
    observation_id: event.observationId,
    observed_at: new Date(event.at).toISOString(),
    sensor_id: event.sensorId,
    source_ip: event.ip,
    destination_port: event.port,
    dataset: event.dataset,
    tags: event.tagIds,
    ...NETWORK,
    metadata: { event: event.number },
  };
}

/** A hash of everything that a stored row must hold. `check-stored.ts` computes the same in SQL. */
export function fingerprint(event: KnownEvent): bigint {
  const line = [
    event.number,
    event.observationId ?? NAMED_BY_ITS_PLACE,
    event.at,
    event.dataset,
    event.sensorId,
    event.ip,
    event.port,
    event.tagIds.toSorted().join(","),
  ].join("|");
  return hash("sha256", line, "buffer").readBigUInt64LE(0);
}
