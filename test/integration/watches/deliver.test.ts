import type { IncomingHttpHeaders } from "node:http";
import { readDeliveriesOf } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { appendLook, type LoggedEvent, readLogHead } from "@noisefloor/clickhouse/watches/log.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { Destination, Watch } from "@noisefloor/domain/watches/watch.ts";
import { type DeliveriesOptions, openDeliveries } from "@noisefloor/query/watches/deliver/deliveries.ts";
import { destinationPolicy } from "@noisefloor/query/watches/deliver/policy.ts";
import { nextAttemptAt } from "@noisefloor/query/watches/deliver/schedule/retry-times.ts";
import { newSecret } from "@noisefloor/query/watches/deliver/secrets.ts";
import { openSender } from "@noisefloor/query/watches/deliver/sender.ts";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { seeded } from "../../support/builders/random.ts";
import { eventually, throughout } from "../../support/eventually.ts";
import { destinationHead, loggedEvent, watchWith } from "../../support/watches/events.ts";
import { type Answer, startHttpReceiver } from "../../support/watches/http-receiver.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld(Date.now);
});
afterEach(() => world.close());

const SOON_MS = 20;

/** Deliveries of some watches, which repeat what failed soon, over a sender that gives up after a quarter of a second. */
function open(watches: readonly Watch[], more: Partial<DeliveriesOptions> = {}) {
  const policy = destinationPolicy(["127.0.0.1"]);
  const deliveries = openDeliveries({
    client: world.client,
    sender: openSender({ policy, mail: undefined, hostName: "noise", now: Date.now, timeoutMs: 250 }),
    now: Date.now,
    watches: (id) => watches.find((watch) => watch.id === id),
    onGone: async () => {},
    onAttempt: () => {},
    onError: (error) => {
      throw error;
    },
    onRecovery: () => {},
    next: (_attempts, _detectedAt, now) => now + SOON_MS,
    ...more,
  });
  world.beforeClose(() => deliveries.stop());
  return deliveries;
}

/** Those of Standard Webhooks. */
const webhookHeaders = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const webhook = (url: string, id = "hook"): Destination & { type: "webhook" } => ({
  ...destinationHead(id),
  ...{ type: "webhook", url, format: "standard", secret: newSecret() },
});
const statesOf = async (watch: Watch) =>
  (await readDeliveriesOf(world.client, watch.id, 1_000)).map(({ state, eventId }) => `${eventId} ${state}`).toSorted();
const allIn = (events: readonly LoggedEvent[], state: string) => events.map(({ id }) => `${id} ${state}`).toSorted();
const eventsOf = (watch: Watch, count: number, at = Date.now()) =>
  Array.from({ length: count }, (_, look) => loggedEvent(watch, at, look + 1));

test("a receiver that fails half of the time gets every event, always with the same id and body, signed", async () => {
  const random = seeded(20);
  const failures: readonly Answer[] = [
    500,
    404,
    (response) => response.writeHead(302, { location: "/elsewhere" }).end(),
    (response) => response.destroy(),
    () => "never answers",
  ];
  const taken = new Map<string, string>();
  const receiver = await startHttpReceiver(({ headers, body }) => {
    if (random.chance(0.5)) return random.pick(failures);
    taken.set(String(headers["webhook-id"]), body);
    return 204;
  });
  const hook = webhook(receiver.url);
  const watch = watchWith([hook]);
  const deliveries = open([watch]);
  const events = eventsOf(watch, 20);
  deliveries.add(events);
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "delivered")));
  expect(taken).toEqual(new Map(events.map(({ id, body }) => [id, body])));
  expect(receiver.received.length).toBeGreaterThan(events.length);
  const verify = new Webhook(hook.secret);
  for (const { headers, body, path, method } of receiver.received) {
    expect({ path, method }).toEqual({ path: "/hook", method: "POST" });
    expect(verify.verify(body, webhookHeaders(headers))).toEqual(JSON.parse(body));
    expect(events.find(({ id }) => id === headers["webhook-id"])?.body).toBe(body);
  }
  expect(deliveries.pending()).toBe(0);
});

test("destinations that never answer delay no other one", async () => {
  const slow = await startHttpReceiver(() => () => {});
  const quick = await startHttpReceiver();
  const watch = watchWith([webhook(slow.url, "slow"), webhook(quick.url, "quick")]);
  const deliveries = open([watch], { next: (_attempts, _detectedAt, now) => now + DAY_MS });
  deliveries.add(eventsOf(watch, 20));
  await eventually(async () => expect(quick.received).toHaveLength(20), 2_000);
  // One after another: a receiver in trouble gets no flood.
  expect(slow.received.length).toBeLessThan(10);
});

test("after a restart, what was not delivered is tried at once, with its attempts; nothing else is sent again", async () => {
  let status = 204;
  const receiver = await startHttpReceiver(() => status);
  const watch = watchWith([webhook(receiver.url)]);
  const [delivered, failing, untried] = eventsOf(watch, 3);
  if (delivered === undefined || failing === undefined || untried === undefined) throw new Error("no events");
  const first = open([watch], { next: (_attempts, _detectedAt, now) => now + DAY_MS });
  first.add([delivered]);
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn([delivered], "delivered")));
  status = 503;
  first.add([failing]);
  await eventually(async () => expect(receiver.received).toHaveLength(2));
  await first.stop();
  status = 204;
  const second = open([watch]);
  await second.load([delivered, failing, untried]);
  await eventually(async () =>
    expect(await statesOf(watch)).toEqual(allIn([delivered, failing, untried], "delivered")),
  );
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids.slice(2).toSorted()).toEqual([failing.id, untried.id].toSorted());
  const states = await readDeliveriesOf(world.client, watch.id, 10);
  expect(states.find(({ eventId }) => eventId === failing.id)).toMatchObject({ attempts: 2, lastStatus: 204 });
});

test("a destination that is gone (410) is switched off, and gets nothing more", async () => {
  const receiver = await startHttpReceiver(() => 410);
  const hook = webhook(receiver.url);
  const watches = [watchWith([hook])];
  const [watch] = watches;
  if (watch === undefined) throw new Error("no watch");
  const deliveries = open(watches, {
    onGone: async (gone, destinationId) => {
      expect({ id: gone.id, destinationId }).toEqual({ id: watch.id, destinationId: "hook" });
      watches[0] = { ...watch, deliver: [{ ...hook, isOff: true }] };
    },
  });
  const events = eventsOf(watch, 3);
  deliveries.add(events);
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "failed")));
  expect(receiver.received).toHaveLength(1);
  const errors = (await readDeliveriesOf(world.client, watch.id, 10)).map(({ lastError }) => lastError).toSorted();
  expect(errors).toEqual(["HTTP 410", "the destination is switched off", "the destination is switched off"]);
});

test("an event that was not taken in three days has failed, stays visible, and is sent when it is asked for", async () => {
  let status = 500;
  const receiver = await startHttpReceiver(() => status);
  const watch = watchWith([webhook(receiver.url)]);
  const deliveries = open([watch], { next: nextAttemptAt });
  // The next attempt would come five seconds later.
  const events = eventsOf(watch, 1, Date.now() - 3 * DAY_MS + 1_000);
  const [event] = events;
  if (event === undefined) throw new Error("no event");
  deliveries.add(events);
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "failed")));
  const [failed] = await readDeliveriesOf(world.client, watch.id, 10);
  expect(failed).toMatchObject({ attempts: 1, lastStatus: 500, lastError: "HTTP 500" });
  status = 200;
  await deliveries.retry(event, "hook");
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "delivered")));
  expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([event.id, event.id]);
});

test("a destination that was added to a watch gets no events of before, also after a restart", async () => {
  const receiver = await startHttpReceiver();
  const at = Date.now();
  const watch = watchWith([{ ...webhook(receiver.url), addedAt: at }]);
  const deliveries = open([watch]);
  const before = eventsOf(watch, 1, at - 1);
  const after = eventsOf(watch, 1, at);
  await deliveries.load([...before, ...after]);
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(after, "delivered")));
  expect(receiver.received).toHaveLength(1);
});

test("what a watch told waits while its receiver is away, however much it is: it is read again from the log", async () => {
  let status = 503;
  const receiver = await startHttpReceiver(() => status);
  const watch = watchWith([webhook(receiver.url)]);
  const deliveries = open([watch], { next: (_attempts, _detectedAt, now) => now + 1_000 });
  // More than is kept in memory.
  const large = "x".repeat(2 ** 20);
  const events = Array.from({ length: 20 }, (_, index) => loggedEvent(watch, Date.now(), index + 1, large));
  for (const event of events) {
    const told = { ...event, subjects: [], times: [] };
    await appendLook(world.client, { holder: "a", position: "", events: [told] }, await readLogHead(world.client));
  }
  deliveries.add(events);
  await eventually(async () => expect(receiver.received.length).toBeGreaterThanOrEqual(20));
  status = 204;
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "delivered")));
});

test("what another process has delivered meanwhile is not sent again", async () => {
  let status = 503;
  const receiver = await startHttpReceiver(() => status);
  const watch = watchWith([webhook(receiver.url)]);
  const one = open([watch], { next: (_attempts, _detectedAt, now) => now + 1_000 });
  const other = open([watch]);
  const events = eventsOf(watch, 1);
  one.add(events);
  await eventually(async () =>
    expect(await readDeliveriesOf(world.client, watch.id, 1)).toMatchObject([{ attempts: 1 }]),
  );
  status = 204;
  for (const event of events) await other.retry(event, "hook");
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "delivered")));
  await eventually(async () => expect(one.pending()).toBe(0));
  expect(receiver.received).toHaveLength(2);
});

test("a stop ends attempts under way, which count as none", async () => {
  const receiver = await startHttpReceiver(() => () => {});
  const watch = watchWith([webhook(receiver.url)]);
  const policy = destinationPolicy(["127.0.0.1"]);
  const sender = openSender({ policy, mail: undefined, hostName: "noise", now: Date.now });
  const deliveries = open([watch], { sender });
  deliveries.add(eventsOf(watch, 1));
  await eventually(async () => expect(receiver.received).toHaveLength(1));
  await deliveries.stop();
  expect(await readDeliveriesOf(world.client, watch.id, 10)).toMatchObject([{ state: "pending", attempts: 0 }]);
  await throughout(100, () => expect(receiver.received).toHaveLength(1));
});

test("while the store takes no states, events are delivered once all the same, and it is stored as soon as it can be", async () => {
  const receiver = await startHttpReceiver();
  const watch = watchWith([webhook(receiver.url)]);
  const heard: string[] = [];
  const deliveries = open([watch], { onError: () => heard.push("error"), onRecovery: () => heard.push("recovery") });
  const events = eventsOf(watch, 5);
  await world.client.command({ query: "RENAME TABLE watch_deliveries TO watch_deliveries_away" });
  deliveries.add(events);
  await eventually(async () => expect(receiver.received).toHaveLength(5));
  await eventually(async () => expect(heard).toEqual(["error"]));
  await world.client.command({ query: "RENAME TABLE watch_deliveries_away TO watch_deliveries" });
  await eventually(async () => expect(await statesOf(watch)).toEqual(allIn(events, "delivered")));
  await eventually(async () => expect(heard).toEqual(["error", "recovery"]));
  expect(receiver.received).toHaveLength(5);
});
