import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { addressOf } from "../history.ts";

const HOUR_MS = 3_600_000;
const ADDRESSES = 100_000;
const PORTS = [22, 23, 80, 443, 445, 2222, 3389, 8080];
const COUNTRIES = ["CN", "US", "NL", "RU", "BR", "IN", "DE", "VN"];

/** An observation as a sensor sends it, of some 300 bytes. */
export type WireEvent = ReturnType<typeof makeEvent>;

/** Observations of the last hour; the same seed makes the same ones. */
export function* makeEvents(seed: number, count: number, tags: readonly Tag[], now: number): Generator<WireEvent> {
  const random = seeded(seed);
  for (let number = 0; number < count; number++) yield makeEvent(random, number, tags, now);
}

function makeEvent(random: Random, number: number, tags: readonly Tag[], now: number) {
  const address = random.int(0, ADDRESSES - 1);
  return {
    observation_id: `event-${number}`,
    observed_at: new Date(now - random.int(0, HOUR_MS)).toISOString(),
    // As the intake fills it in: in no dataset, curl's rows would be left out of a rollup.
    dataset: "global",
    sensor_id: `sensor-${random.int(0, 39)}`,
    source_ip: addressOf(address),
    source_port: random.int(1_024, 65_535),
    destination_port: random.pick(PORTS),
    transport: "tcp",
    tags: tags.length === 0 ? [] : [random.pick(tags).id],
    asn: 1 + (address % 3_000),
    organization: `Network ${address % 3_000}`,
    country: COUNTRIES[address % COUNTRIES.length] ?? "US",
    rdns: `host-${address}.example.net`,
  };
}

/**
 * Messages with the same number of lines each: objects as JSON, texts as they are.
 * @param header the first line of each message, which counts, too.
 */
export function* messagesOf(events: Iterable<object | string>, perMessage: number, header?: string): Generator<string> {
  const first = header === undefined ? [] : [header];
  let lines: string[] = [];
  for (const event of events) {
    lines.push(typeof event === "string" ? event : JSON.stringify(event));
    if (first.length + lines.length < perMessage) continue;
    yield [...first, ...lines].join("\n");
    lines = [];
  }
  if (lines.length > 0) yield [...first, ...lines].join("\n");
}

/** The same as a file. All their members are columns of `observations`, too. */
export async function writeNdjson(file: string, events: Iterable<WireEvent>): Promise<void> {
  const blocks = function* () {
    for (const block of messagesOf(events, 1_000)) yield `${block}\n`;
  };
  await pipeline(Readable.from(blocks()), createWriteStream(file));
}
