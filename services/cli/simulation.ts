import { numberToIpv4 } from "@noisefloor/domain/ipv4.ts";
import { DAY_MS, floorToHour, HOUR_MS } from "@noisefloor/domain/window.ts";

/**
 * A made-up sensor fleet for trying Noisefloor out. Everything in it says so: sensors are called `simulated-…`,
 * metadata has `simulated: true`, and addresses lie in three blocks that hardly carry public services.
 */
const BLOCKS = [11, 22, 33];
const SENSORS = Array.from({ length: 12 }, (_, index) => `simulated-${String(index + 1).padStart(2, "0")}`);
const SCANNERS = 4_000;

type Habit = { readonly tag: string; readonly transport: "tcp" | "udp"; readonly port: number; readonly share: number };

/** What simulated scanners look for, and how many of them in a hundred. */
const HABITS: readonly Habit[] = [
  { tag: "telnet-scanner", transport: "tcp", port: 23, share: 22 },
  { tag: "ssh-scanner", transport: "tcp", port: 22, share: 18 },
  { tag: "smb-scanner", transport: "tcp", port: 445, share: 14 },
  { tag: "http-scanner", transport: "tcp", port: 80, share: 12 },
  { tag: "https-scanner", transport: "tcp", port: 443, share: 9 },
  { tag: "rdp-scanner", transport: "tcp", port: 3389, share: 9 },
  { tag: "redis-scanner", transport: "tcp", port: 6379, share: 6 },
  { tag: "sip-scanner", transport: "udp", port: 5060, share: 5 },
  { tag: "docker-api-scanner", transport: "tcp", port: 2375, share: 3 },
  { tag: "mirai", transport: "tcp", port: 2323, share: 2 },
];

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32), so that a simulated hour is always the same. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The observations of the last `days` days up to `now`, hour by hour. An hour's are the same however often they are
 * made, ids included, so simulating twice adds only what has happened since.
 */
export function* simulate(days: number, now: number): Generator<Record<string, unknown>> {
  for (let hour = floorToHour(now - days * DAY_MS) + HOUR_MS; hour <= now; hour += HOUR_MS) {
    for (const observation of simulateHour(hour)) {
      if (Date.parse(observation.observed_at) <= now) yield observation;
    }
  }
}

function* simulateHour(hour: number) {
  const random = seededRandom(hour / HOUR_MS);
  // More in the waking hours of the east, fewer at its night: a day has a shape, as real ones do.
  const swing = 1 + 0.4 * Math.sin(((hour % DAY_MS) / DAY_MS) * 2 * Math.PI);
  const count = Math.round(260 * swing * (0.85 + 0.3 * random()));
  for (let index = 0; index < count; index++) {
    // Few scanners are loud and many are rare.
    const scanner = Math.floor(SCANNERS * random() ** 2.2);
    const habit = habitOf(scanner);
    yield {
      observation_id: `simulated:${hour / HOUR_MS}:${index}`,
      observed_at: new Date(hour + Math.floor(random() * HOUR_MS)).toISOString(),
      sensor_id: SENSORS[Math.floor(random() * SENSORS.length)] ?? "simulated",
      source_ip: addressOf(scanner),
      transport: habit.transport,
      source_port: 1_024 + Math.floor(random() * 64_000),
      destination_port: habit.port,
      tags: [habit.tag],
      metadata: { simulated: true },
    };
  }
}

function addressOf(scanner: number): string {
  const random = seededRandom(scanner + 0x5ca9);
  const block = BLOCKS[scanner % BLOCKS.length] ?? 11;
  return numberToIpv4(block * 2 ** 24 + 1 + Math.floor(random() * (2 ** 24 - 2)));
}

function habitOf(scanner: number): Habit {
  let at = seededRandom(scanner)() * HABITS.reduce((sum, habit) => sum + habit.share, 0);
  for (const habit of HABITS) {
    at -= habit.share;
    if (at < 0) return habit;
  }
  return { tag: "ssh-scanner", transport: "tcp", port: 22, share: 0 };
}
