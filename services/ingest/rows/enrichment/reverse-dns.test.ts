import { afterEach, beforeEach, expect, test } from "vitest";
import { type NameServer, startNameServer } from "../../../../test/support/ingest/name-server.ts";
import { createReverseDns, type ReverseDns, type ReverseDnsOptions } from "./reverse-dns.ts";

const GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

let server: NameServer;
let names: ReverseDns;
beforeEach(async () => {
  server = await startNameServer({
    reverse: {
      "66.249.66.1": "Crawl-1.googlebot.com",
      "45.0.0.1": "crawl-1.googlebot.com",
      "45.0.0.2": "nowhere.googlebot.com",
      "45.0.0.3": "slow.googlebot.com",
    },
    forward: { "crawl-1.googlebot.com": ["66.249.66.1", "66.249.66.2"], "slow.googlebot.com": ["45.0.0.3"] },
    silent: ["slow.googlebot.com"],
  });
  open();
});
afterEach(async () => {
  names.stop();
  await server.close();
});

function open(more: Partial<ReverseDnsOptions> = {}) {
  names = createReverseDns({ servers: [server.address], ...more });
}

type Seen = { source_ip: string; rdns?: string; rdns_validated?: boolean; http?: { user_agent: string } };
const claiming = (source_ip: string, more: Partial<Seen> = {}): Seen => ({
  source_ip,
  http: { user_agent: GOOGLE },
  ...more,
});

async function fill(...observations: Seen[]) {
  await names.prepare(observations);
  for (const observation of observations) names.fill(observation);
  return observations.map(({ rdns, rdns_validated }) => ({ rdns, rdns_validated }));
}

const NOTHING = { rdns: undefined, rdns_validated: undefined };
const CONFIRMED = { rdns: "crawl-1.googlebot.com", rdns_validated: true };

test("a name counts when it leads back to the address; any owner can give an address the name of a crawler", async () => {
  expect(await fill(claiming("66.249.66.1"), claiming("45.0.0.1"), claiming("45.0.0.2"), claiming("45.0.0.9"))).toEqual(
    [CONFIRMED, NOTHING, NOTHING, NOTHING],
  );
});

test("only addresses that claim to be a known crawler are looked up, and each once", async () => {
  const other = { source_ip: "66.249.66.1", http: { user_agent: "curl/8" } };
  expect(await fill(other, { source_ip: "45.0.0.1" })).toEqual([NOTHING, NOTHING]);
  expect(server.asked).toEqual([]);
  await fill(claiming("66.249.66.1"), claiming("66.249.66.1"));
  expect(await fill(claiming("66.249.66.1"), other)).toEqual([CONFIRMED, CONFIRMED]);
  expect(server.asked).toEqual(["1.66.249.66.in-addr.arpa", "crawl-1.googlebot.com"]);
});

test("a name that the sensor gave stays, and is confirmed when it is the same", async () => {
  expect(
    await fill(
      claiming("66.249.66.1", { rdns: "crawl-1.Googlebot.com" }),
      claiming("66.249.66.1", { rdns: "own.example" }),
    ),
  ).toEqual([
    { rdns: "crawl-1.Googlebot.com", rdns_validated: true },
    { rdns: "own.example", rdns_validated: undefined },
  ]);
});

test("a resolver that does not answer holds a batch up for a moment, and the next ones not at all", async () => {
  names.stop();
  open({ timeoutMs: 60_000, waitMs: 50 });
  const began = performance.now();
  expect(await fill(claiming("45.0.0.3"))).toEqual([NOTHING]);
  expect(performance.now() - began).toBeGreaterThanOrEqual(45);
  const again = performance.now();
  expect(await fill(claiming("45.0.0.3"))).toEqual([NOTHING]);
  expect(performance.now() - again).toBeLessThan(40);
});

test("names are looked up again after a day, addresses without a name after an hour", async () => {
  names.stop();
  let now = 1_000;
  open({ now: () => now });
  await fill(claiming("66.249.66.1"), claiming("45.0.0.9"));
  const asked = () => server.asked.filter((name) => name.endsWith("arpa")).length;
  now += 2 * 3_600_000;
  await fill(claiming("66.249.66.1"), claiming("45.0.0.9"));
  expect(asked(), "the unknown one").toBe(3);
  now += 23 * 3_600_000;
  expect(await fill(claiming("66.249.66.1"))).toEqual([CONFIRMED]);
  expect(asked()).toBe(4);
});
