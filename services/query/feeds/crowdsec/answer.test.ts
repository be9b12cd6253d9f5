import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { changesBetween } from "@noisefloor/domain/feeds/address-changes.ts";
import { expect, test } from "vitest";
import { toAnswer } from "./answer.ts";
import { changesFor, startedAll } from "./changes.ts";
import { type Decision, turnAt } from "./decisions.ts";

type Answer = { readonly new: readonly Decision[]; readonly deleted: readonly Decision[] };
type Bouncer = { apply(answer: Answer): void; holds(ip: string): boolean };
/** How published bouncers take an answer. */
type Kind = { readonly userAgent: string; make(now: () => number): Bouncer };

const durationOf = ({ duration }: Decision) => Number.parseInt(duration, 10) * 3_600_000;

/** Keeps an address until it is deleted, after it was announced: blocklist mirror, AWS WAF, HAProxy. */
function permanent(): Bouncer {
  const held = new Set<string>();
  return {
    apply(answer) {
      for (const { value } of answer.new) held.add(value);
      for (const { value } of answer.deleted) held.delete(value);
    },
    holds: (ip) => held.has(ip),
  };
}

/** Keeps an address until its last announcement ends: Traefik's plugin. */
function renewing(now: () => number): Bouncer {
  const ends = new Map<string, number>();
  return {
    apply(answer) {
      for (const each of answer.new) ends.set(each.value, now() + durationOf(each));
      for (const { value } of answer.deleted) ends.delete(value);
    },
    holds: (ip) => (ends.get(ip) ?? 0) > now(),
  };
}

/** Ignores the announcement of an address that it has: nftables' sets keep the end with which an element came. */
function keepingEnds(now: () => number): Bouncer {
  const ends = new Map<string, number>();
  const holds = (ip: string) => (ends.get(ip) ?? 0) > now();
  return {
    apply(answer) {
      for (const { value } of answer.deleted) ends.delete(value);
      for (const each of answer.new) if (!holds(each.value)) ends.set(each.value, now() + durationOf(each));
    },
    holds,
  };
}

/** Also ignores it when the router has dropped the address, until a deletion: MikroTik's bouncer. */
function rememberingAll(now: () => number): Bouncer {
  const ends = new Map<string, number>();
  return {
    apply(answer) {
      for (const { value } of answer.deleted) ends.delete(value);
      for (const each of answer.new) if (!ends.has(each.value)) ends.set(each.value, now() + durationOf(each));
    },
    holds: (ip) => (ends.get(ip) ?? 0) > now(),
  };
}

/**
 * Keeps decisions by origin and address: one that it has is ignored, also when it has ended, until a new one of the
 * address clears it away. Node's bouncer and the PHP engine.
 */
function byOrigin(now: () => number): Bouncer {
  const items = new Map<string, Map<string, number>>();
  const itemOf = (ip: string) => {
    const item = items.get(ip) ?? new Map<string, number>();
    // The cache drops an item when its last decision ends.
    return Math.max(0, ...item.values()) > now() ? item : new Map<string, number>();
  };
  const clear = (item: Map<string, number>) => new Map([...item].filter(([, end]) => end >= now()));
  return {
    apply(answer) {
      for (const each of answer.new) {
        const item = itemOf(each.value);
        if (item.has(each.origin)) continue;
        items.set(each.value, clear(item).set(each.origin, now() + durationOf(each)));
      }
      for (const { value, origin } of answer.deleted) {
        const item = itemOf(value);
        if (item.delete(origin)) items.set(value, clear(item));
      }
    },
    holds: (ip) => [...itemOf(ip).values()].some((end) => end > now()),
  };
}

const BOUNCERS: Readonly<Record<string, Kind>> = {
  "blocklist mirror": { userAgent: "crowdsec-blocklist-mirror/v0.0.5", make: permanent },
  Traefik: { userAgent: "Crowdsec-Bouncer-Traefik-Plugin/1.X.X", make: renewing },
  "firewall bouncer": { userAgent: "crowdsec-firewall-bouncer/v0.0.31", make: keepingEnds },
  MikroTik: { userAgent: "Go-http-client/1.1", make: rememberingAll },
  Node: { userAgent: "nodejs-cs-bouncer/v0.2.0", make: byOrigin },
};

/** Answers bouncers of every kind again and again. @throws when one of them does not hold exactly the list. */
async function runBouncers(first: Uint32Array, minutesOf: (round: number) => number): Promise<void> {
  const feed = { name: "edge", ttlHours: 1 };
  let [now, list] = [0, first];
  const bouncers = Object.entries(BOUNCERS).map(([kind, { userAgent, make }]) => ({
    kind,
    userAgent,
    ...make(() => now),
  }));
  const expectHeld = (when: string) => {
    for (const { kind, holds } of bouncers) {
      const held = first.filter((address) => holds(numberToIpv4(address)));
      expect(held, `${kind} ${when}, after ${now / 60_000} minutes`).toEqual(list);
    }
  };
  let changes = startedAll(list);
  for (let round = 0; now < 9 * 3_600_000; round++) {
    const [answeredAt, listed] = [now, list];
    for (const { userAgent, apply } of bouncers) {
      const { started, ended } = toAnswer(changes, { feed, userAgent, turn: turnAt(now, feed.ttlHours) });
      apply({ new: [...started], deleted: [...ended] });
    }
    expectHeld("after its answer");
    now += minutesOf(round) * 60_000;
    expectHeld("before its next answer");
    // Half of the addresses stay throughout.
    if (round % 5 === 0) list = first.filter((_, index) => index % 2 === 0 || (index + round) % 3 === 0);
    changes = await changesFor(
      { last: { revision: String(answeredAt), answeredAt }, unsure: [] },
      {
        feed,
        addresses: list,
        revision: String(now),
        answeredAt: now,
        changesSince: async () => changesBetween(listed, list),
      },
    );
  }
}

test("an address that is listed throughout is held by every kind of bouncer at every moment, and one that left is let go with the next answer", async () => {
  const addresses = Uint32Array.from({ length: 60 }, (_, index) => ipv4ToNumber("46.0.0.1") + 77 * index);
  await runBouncers(addresses, () => 2);
  await runBouncers(addresses, (round) => [1, 9, 14][round % 3] ?? 1);
  // One that can seldom ask.
  await runBouncers(addresses, (round) => [40, 3, 31, 7, 22, 44, 16][round % 7] ?? 1);
});
