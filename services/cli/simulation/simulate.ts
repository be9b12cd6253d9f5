import { hash } from "node:crypto";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { SENSORS } from "./fleet.ts";
import { type KnownPlaces, toObservation, type Visit } from "./observation.ts";
import { mix, pick, type Random, seededRandom } from "./random.ts";
import type { Campaigns } from "./sources/campaigns.ts";
import { activityAt, type Scanners, type Source } from "./sources/sources.ts";

/** Who scans the simulated fleet. */
export type SimulatedInternet = KnownPlaces & {
  readonly seed: number;
  readonly scanners: Scanners;
  readonly campaigns: Campaigns;
  readonly drawBenign: (random: Random) => Source;
  /** Differs where anything differs that observations depend on. */
  readonly fingerprint: string;
};

export type Span = {
  /** In milliseconds since 1970 UTC: after the first and up to the second. */
  readonly from: number;
  readonly to: number;
  /** The mean. */
  readonly perDay: number;
};

const MINUTE_MS = 60_000;
/** Observations a day from which a slot is a second instead of a minute, so that its observations fit into memory. */
const MANY_PER_DAY = 10_000_000;
/** How long the shares of campaigns stay the same. */
const STEADY_MS = 10 * MINUTE_MS;
/** Shares of all observations. */
const BENIGN = 0.07;
const ONE_OFF = 0.04;
/** By how much more there is by day (in East Asia, where most comes from) and by how much less at weekends. */
const DAILY = 0.2;
const WEEKEND = 0.88;
const BUSIEST_UTC_HOUR = 8;

/**
 * The observations of a span as the intake accepts them, oldest first. A slot of time has the same ones in every run,
 * ids included, so that a span that overlaps an earlier one adds only what is new.
 */
export function* simulate(internet: SimulatedInternet, { from, to, perDay }: Span): Generator<ValidObservation> {
  const name = hash("sha256", `${internet.fingerprint} ${perDay}`).slice(0, 8);
  const slotMs = perDay < MANY_PER_DAY ? MINUTE_MS : 1_000;
  const mean = perDay / (DAY_MS / slotMs);
  let shares: Shares = [];
  let steadyUntil = 0;
  for (let slot = Math.floor(from / slotMs); slot * slotMs <= to; slot++) {
    const start = slot * slotMs;
    if (start >= steadyUntil) {
      shares = internet.campaigns.sharesAt(start - (start % STEADY_MS));
      steadyUntil = start - (start % STEADY_MS) + STEADY_MS;
    }
    const idPrefix = `demo-${name}-${slot.toString(36)}-`;
    for (const observation of simulateSlot(internet, { slot, start, slotMs, mean, shares, idPrefix })) {
      if (observation.observedAt > from && observation.observedAt <= to) yield toObservation(internet, observation);
    }
  }
}

type Shares = ReturnType<Campaigns["sharesAt"]>;
type Slot = {
  readonly slot: number;
  readonly start: number;
  readonly slotMs: number;
  readonly mean: number;
  readonly shares: Shares;
  readonly idPrefix: string;
};

function simulateSlot(internet: SimulatedInternet, { slot, start, slotMs, mean, shares, idPrefix }: Slot) {
  const random = seededRandom(mix(internet.seed, slot, 21));
  const count = Math.floor(mean * rhythm(start) + random());
  const drawn: Visit[] = [];
  while (drawn.length < count) {
    const source = drawSource(internet, start, shares, random);
    // A scanner visits several sensors at the same time.
    const visits = 1 + Math.floor(-0.7 * Math.log(1 - random()));
    for (let visit = 0; visit < visits && drawn.length < count; visit++) {
      const observedAt = start + Math.floor(random() * slotMs);
      drawn.push(observe(source, { id: idPrefix + drawn.length.toString(36), observedAt, random }));
    }
  }
  return drawn.sort((one, other) => one.observedAt - other.observedAt);
}

function rhythm(time: number): number {
  const daily = 1 + DAILY * Math.cos(((time / HOUR_MS - BUSIEST_UTC_HOUR) / 24) * 2 * Math.PI);
  const day = new Date(time).getUTCDay();
  return daily * (day === 0 || day === 6 ? WEEKEND : 1);
}

function drawSource(
  { scanners, campaigns, drawBenign }: SimulatedInternet,
  time: number,
  shares: Shares,
  random: Random,
): Source {
  let drawn = random();
  if (drawn < BENIGN) return drawBenign(random);
  drawn -= BENIGN;
  if (drawn < ONE_OFF) return scanners.oneOff(random);
  drawn -= ONE_OFF;
  for (const { campaign, share } of shares) {
    if (drawn < share) return campaigns.source(campaign, time, random);
    drawn -= share;
  }
  const source = scanners.recurring(time, random);
  // One that sleeps leaves its place to another, mostly.
  return random() * 1.4 < activityAt(source, time) ? source : scanners.recurring(time, random);
}

type Moment = { readonly id: string; readonly observedAt: number; readonly random: Random };

function observe(source: Source, { id, observedAt, random }: Moment): Visit {
  const sensor = pick(SENSORS, random() ** 1.6);
  const content = pick(source.contents, random() ** 1.7);
  const sourcePort = content.transport === "icmp" ? undefined : 1_024 + Math.floor(random() * 64_000);
  return { id, observedAt, source, sensor, content, sourcePort };
}
