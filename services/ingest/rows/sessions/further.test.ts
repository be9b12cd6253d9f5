import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { betterApplication, type SessionPart, type SessionState } from "./merge.ts";
import { createSessions } from "./sessions.ts";

const NOW = Date.UTC(2026, 10, 20);
type Members = Record<string, unknown>;

/** The records of one session, each with an id of its own. */
function partsOf(records: readonly Members[]): SessionPart[] {
  return records.map((members, index) => {
    const sent = { observed_at: new Date(NOW).toISOString(), sensor_id: "s", source_ip: "45.0.0.1", session_id: "1" };
    const valid = validateObservation({ ...sent, ...members }, { now: NOW, retentionDays: 90, right: "everything" });
    if ("reason" in valid) throw new Error(valid.detail);
    return { valid, observationId: "session:1", recordId: String(index), tagIds: [], callbacks: [] };
  });
}

/** What is known in the end, by the id that it is stored under. */
async function join(parts: readonly SessionPart[], sizes: readonly number[]): Promise<SessionState[]> {
  const sessions = createSessions(async () => []);
  const known = new Map<string, SessionState>();
  for (let start = 0, turn = 0; start < parts.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    const { states } = await sessions.join(parts.slice(start, start + size));
    for (const state of states) known.set(state.observationId, state);
    start += size;
  }
  return [...known.values()];
}

/** The members that the store keeps, in one order: it does not tell an empty text from none. */
const stated = (http: object | undefined) =>
  Object.fromEntries(
    Object.entries(http ?? {})
      .filter(([, value]) => value !== "" && value !== undefined)
      .toSorted(),
  );
const requests = (states: readonly SessionState[]) => states.flatMap(({ observation: { http } }) => http ?? []);
const sorted = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).toSorted();
const distinct = (values: readonly unknown[]) => [...new Set(sorted(values))];
const sum = (numbers: readonly (number | undefined)[]) => numbers.reduce<number>((all, one) => all + (one ?? 0), 0);

const request = fc.record({
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/", "/.env", "/cgi-bin/x"),
  query: fc.constantFrom("", "a=1", "a=2"),
  user_agent: fc.constantFrom("curl", "zgrab"),
  body: fc.constantFrom("cmd=id", "cmd=ps"),
});
const record: fc.Arbitrary<Members> = fc.oneof(
  request.map((http) => ({ http })),
  request.map((http) => ({ http, credentials: [{ username: "root", password: "x" }], login_attempts: 1 })),
  fc.constantFrom("root", "admin").map((username) => ({ credentials: [{ username }], login_attempts: 1 })),
  fc.constantFrom("id", "uname -a").map((command) => ({ commands: [command] })),
  fc.constantFrom("one", "two").map((label) => ({ labels: [label] })),
  fc.constantFrom("tcp", "weird", "tls", "ssh", "http").map((application) => ({ application })),
  fc.record({ destination_port: fc.constant(8080), source_port: fc.integer({ min: 1, max: 9 }) }),
);

/** Records, the same in another order with some of them again, and where both are cut. */
const deliveries = (one: fc.Arbitrary<Members>) =>
  fc.array(one, { minLength: 1, maxLength: 25 }).chain((records) =>
    fc.record({
      records: fc.constant(records),
      order: fc.shuffledSubarray([...records.keys()], { minLength: records.length }),
      again: fc.array(fc.nat(records.length - 1), { maxLength: 25 }),
      sizes: fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 5 }),
    }),
  );

test("a session has every request, login, command and label once, in any order, cut anywhere, sent again", async () => {
  await fc.assert(
    fc.asyncProperty(deliveries(record), async ({ records, order, again, sizes }) => {
      const parts = partsOf(records);
      const states = await join(
        [...order, ...again].flatMap((index) => parts[index] ?? []),
        sizes,
      );
      const sent = parts.map(({ valid }) => valid.observation);
      const seen = states.map(({ observation }) => observation);
      const wanted = sent.flatMap(({ http }) => http ?? []);
      expect(sorted(requests(states))).toEqual(distinct(wanted));
      expect(states).toHaveLength(Math.max(1, distinct(wanted).length));
      expect(sum(seen.map((one) => one.login_attempts))).toBe(sum(sent.map((one) => one.login_attempts)));
      expect(distinct(seen.flatMap(({ credentials = [] }) => credentials))).toEqual(
        distinct(sent.flatMap(({ credentials = [] }) => credentials)),
      );
      for (const list of ["commands", "labels"] as const) {
        expect(sorted(seen.flatMap((one) => one[list] ?? []))).toEqual(
          distinct(sent.flatMap((one) => one[list] ?? [])),
        );
      }
      const session = states.find(({ observationId }) => observationId === "session:1")?.observation;
      const names = sent.map(({ application }) => application);
      expect(session?.application).toBe(names.reduce(betterApplication, undefined));
      const ports = sent.flatMap(({ source_port }) => source_port ?? []);
      expect(session?.source_port).toBe(ports.length === 0 ? undefined : Math.min(...ports));
    }),
    { numRuns: 200 },
  );
});

test("a record that says a part of a request is found in one that agrees; sent again in any order it adds nothing", async () => {
  const partial = fc
    .record(
      {
        method: fc.constantFrom("GET", "POST"),
        host: fc.constantFrom("a", "b"),
        path: fc.constantFrom("", "/", "/x"),
        query: fc.constantFrom("", "a=1"),
        user_agent: fc.constantFrom("curl", "zgrab"),
        body: fc.constantFrom("cmd=id", "cmd=ps"),
      },
      { requiredKeys: [] },
    )
    .map((http) => ({ http }));
  const behaviour = fc.oneof(
    partial,
    fc.constantFrom(80, 443).map((destination_port) => ({ destination_port })),
  );
  await fc.assert(
    fc.asyncProperty(deliveries(behaviour), async ({ records, order, sizes }) => {
      const parts = partsOf(records);
      const states = await join(parts, sizes);
      const seen = states.map(({ observation }) => observation);
      for (const { valid } of parts) {
        const { http, destination_port } = valid.observation;
        expect(seen).toContainEqual(
          expect.objectContaining({
            ...(http !== undefined && { http: expect.objectContaining(stated(http)) }),
            ...(destination_port !== undefined && { destination_port }),
          }),
        );
      }
      const twice = await join([...parts, ...order.flatMap((index) => parts[index] ?? [])], sizes);
      const told = (some: readonly SessionState[]) =>
        sorted(some.map(({ observationId, observation: { http } }) => [observationId, stated(http)]));
      expect(told(twice)).toEqual(told(states));
    }),
    { numRuns: 200 },
  );
});

test("a further request knows the connection of its session, whatever came first, and counts none of its logins", async () => {
  const records = [
    { http: { path: "/" } },
    { http: { path: "/.env" } },
    { destination_port: 8080, transport: "tcp", application: "http", tls: { ja3: "a" } },
    { credentials: [{ username: "root" }], login_attempts: 1, commands: ["id"] },
  ];
  const [, further] = await join(partsOf(records), [4]);
  expect(further?.observation).toMatchObject({
    http: { path: "/.env" },
    destination_port: 8080,
    transport: "tcp",
    application: "http",
    tls: { ja3: "a" },
  });
  expect(further?.observation.login_attempts).toBeUndefined();
  expect(further?.observation.commands).toBeUndefined();
});

test("a session that goes on to another port is seen on both, without the fingerprints of the first", async () => {
  const states = await join(
    partsOf([{ destination_port: 22, ssh: { hassh: "h" } }, { destination_port: 80 }, { destination_port: 443 }]),
    [3],
  );
  expect(states.map(({ observation: { destination_port, ssh } }) => [destination_port, ssh?.hassh])).toEqual([
    [22, "h"],
    [80, undefined],
    [443, undefined],
  ]);
});

test("ten thousand requests of one session are ten thousand observations", async () => {
  const records = Array.from({ length: 10_000 }, (_, index) => ({ http: { method: "GET", path: `/${index}` } }));
  expect(await join(partsOf(records), [3_000])).toHaveLength(10_000);
});

test("TLS hellos of one session for other servers are observations of their own", async () => {
  const hellos = ["a.example", "b.example", "c.example", "d.example"].map((sni) => ({ tls: { ja4: "t13d", sni } }));
  const states = await join(partsOf([...hellos, ...hellos]), [3]);
  expect(sorted(states.map(({ observation: { tls } }) => tls))).toEqual(sorted(hellos.map(({ tls }) => tls)));
});
