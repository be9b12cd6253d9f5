import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { DAY_MS, floorToHour, HOUR_MS } from "@noisefloor/domain/time/window.ts";

/**
 * A simulated sensor fleet for trying Noisefloor out. Its data is marked: sensors are called `simulated-…`, metadata
 * has `simulated: true`, and the addresses are in three blocks with hardly any public services.
 */
const BLOCKS = [11, 22, 33];
const SENSORS = Array.from({ length: 12 }, (_, index) => `simulated-${String(index + 1).padStart(2, "0")}`);
const SCANNERS = 4_000;

type ScannerProfile = {
  readonly tag: string;
  readonly transport: "tcp" | "udp";
  readonly port: number;
  readonly share: number;
};

/** What simulated scanners look for, and the percentage of scanners that do. */
const PROFILES: readonly ScannerProfile[] = [
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

/** Random numbers from 0 to 1 (mulberry32), the same for the same seed: a simulated hour never changes. */
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
 * The observations of the last `days` days up to `now`, hour by hour. An hour has the same observations in every run,
 * ids included, so a second run adds only the hours since the first.
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
  // As in real traffic, there is more by day and less by night (in the east, where most of it comes from).
  const swing = 1 + 0.4 * Math.sin(((hour % DAY_MS) / DAY_MS) * 2 * Math.PI);
  const count = Math.round(260 * swing * (0.85 + 0.3 * random()));
  for (let index = 0; index < count; index++) {
    // A few scanners send most observations, and many send few.
    const scanner = Math.floor(SCANNERS * random() ** 2.2);
    const profile = profileOf(scanner);
    yield {
      observation_id: `simulated:${hour / HOUR_MS}:${index}`,
      observed_at: new Date(hour + Math.floor(random() * HOUR_MS)).toISOString(),
      sensor_id: SENSORS[Math.floor(random() * SENSORS.length)] ?? "simulated",
      source_ip: addressOf(scanner),
      transport: profile.transport,
      source_port: 1_024 + Math.floor(random() * 64_000),
      destination_port: profile.port,
      tags: [profile.tag],
      metadata: { simulated: true },
    };
  }
}

function addressOf(scanner: number): string {
  const random = seededRandom(scanner + 0x5ca9);
  const block = BLOCKS[scanner % BLOCKS.length] ?? 11;
  return numberToIpv4(block * 2 ** 24 + 1 + Math.floor(random() * (2 ** 24 - 2)));
}

function profileOf(scanner: number): ScannerProfile {
  let at = seededRandom(scanner)() * PROFILES.reduce((sum, profile) => sum + profile.share, 0);
  for (const profile of PROFILES) {
    at -= profile.share;
    if (at < 0) return profile;
  }
  return { tag: "ssh-scanner", transport: "tcp", port: 22, share: 0 };
}
