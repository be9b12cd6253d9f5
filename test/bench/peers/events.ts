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

const PATHS = [
  "/",
  "/robots.txt",
  "/.env",
  "/.git/config",
  "/wp-login.php",
  "/boaform/admin/formLogin",
  "/shell",
  "/a/b/c",
];
const USER_AGENTS = [
  "curl/8.5.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64)",
  "zgrab/0.x",
  "python-requests/2.31",
  "-",
];

/**
 * The same observations as Suricata logs requests, each a flow of its own: without tags, network and country, so that
 * the service decodes them, looks for their sessions, looks their networks up and matches its rules.
 */
export function* makeRawRecords(seed: number, count: number, now: number) {
  const random = seeded(seed);
  for (let number = 0; number < count; number++) {
    const event = makeEvent(random, number, [], now);
    yield {
      timestamp: event.observed_at,
      flow_id: number + 1,
      event_type: "http",
      host: event.sensor_id,
      src_ip: event.source_ip,
      src_port: event.source_port,
      dest_ip: "192.0.2.1",
      dest_port: event.destination_port,
      proto: "TCP",
      http: {
        hostname: "192.0.2.1",
        url: random.pick(PATHS),
        http_user_agent: random.pick(USER_AGENTS),
        http_method: "GET",
        protocol: "HTTP/1.1",
        length: 0,
      },
    };
  }
}

/** Messages with the same number of records each, as NDJSON. */
export function* messagesOf(events: Iterable<object>, perMessage: number): Generator<string> {
  let lines: string[] = [];
  for (const event of events) {
    lines.push(JSON.stringify(event));
    if (lines.length < perMessage) continue;
    yield lines.join("\n");
    lines = [];
  }
  if (lines.length > 0) yield lines.join("\n");
}

/** The same as a file. All their members are columns of `observations`, too. */
export async function writeNdjson(file: string, events: Iterable<WireEvent>): Promise<void> {
  const blocks = function* () {
    for (const block of messagesOf(events, 1_000)) yield `${block}\n`;
  };
  await pipeline(Readable.from(blocks()), createWriteStream(file));
}
