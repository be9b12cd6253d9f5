import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { seeded } from "../../support/builders/random.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const [LOG4J, SHELL, BOTH, UNUSED] = ["CVE-2021-44228", "CVE-2014-6271", "CVE-2020-0001", "CVE-2026-0001"] as const;
const TAGS = [
  makeTag("log4j", "malicious", { cves: [LOG4J, BOTH], description: "Sends a lookup." }),
  makeTag("shellshock", "malicious", { cves: [SHELL.toLowerCase(), BOTH] }),
  makeTag("crawler", "unknown"),
  makeTag("unused", "suspicious", { cves: [UNUSED] }),
];
const ACTOR_NETWORK = "45.2.0.0/24";
const random = seeded(11);
const observations = Array.from({ length: 600 }, () => ({
  source_ip: random.pick([`45.0.0.${random.int(1, 60)}`, `45.2.0.${random.int(1, 20)}`]),
  observed_at: new Date(NOW - random.int(0, 35 * DAY)).toISOString(),
  sensor_id: "s",
  dataset: random.pick(["global", "global", "community"] as const),
  tags: ["log4j", "shellshock", "crawler"].filter(() => random.chance(0.4)),
}));

let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  const network = parseNetwork(ACTOR_NETWORK);
  if (typeof network === "string") throw new Error(network);
  const about = { name: "Surveyor", category: "research", description: "", explanation: "", reference: "" };
  await world.replaceNetworks("actor", [
    { ...about, listId: "surveyor", trustLevel: "", priority: 0, networks: [network] },
  ]);
  expect((await world.store(observations)).rejected).toEqual([]);
  await world.store(observations.slice(0, 50));
});
afterAll(() => world.close());

/** Counted one by one. */
function expectedActivity(cve: string, reachDays = 90) {
  const slugs = TAGS.filter(({ cves }) => cves.some((id) => id.toUpperCase() === cve)).map(({ slug }) => slug);
  const end = Math.ceil(NOW / HOUR) * HOUR;
  const seen = (days: number, isActor: boolean) => {
    const from = end - Math.min(days, reachDays) * DAY;
    const addresses = observations.filter(
      (one) =>
        one.dataset === "global" &&
        Date.parse(one.observed_at) >= from &&
        one.tags.some((slug) => slugs.includes(slug)) &&
        one.source_ip.startsWith("45.2.0.") === isActor,
    );
    return new Set(addresses.map(({ source_ip }) => source_ip)).size;
  };
  const counts = {
    ...{ benign_ip_count_1d: seen(1, true), benign_ip_count_10d: seen(10, true), benign_ip_count_30d: seen(30, true) },
    ...{ threat_ip_count_1d: seen(1, false), threat_ip_count_10d: seen(10, false) },
    threat_ip_count_30d: seen(30, false),
  };
  return { activity_seen: counts.benign_ip_count_30d + counts.threat_ip_count_30d > 0, ...counts };
}

test.each([LOG4J, SHELL, BOTH, UNUSED])("%s has the exact numbers of addresses in 1, 10 and 30 days", async (cve) => {
  const key = await world.addCaller("unlimited", []);
  expect(await world.get(`/v1/cve/${cve.toLowerCase()}`, { key })).toMatchObject({
    status: 200,
    body: { id: cve, exploitation_activity: expectedActivity(cve) },
  });
});

test.each([
  ["unauthenticated", 1],
  ["community", 10],
])("counts reach as far back as the plan %s", async (plan, reachDays) => {
  const headers = plan === "unauthenticated" ? {} : { key: await world.addCaller(plan, []) };
  expect(await world.get(`/v1/cve/${LOG4J}`, headers)).toMatchObject({
    body: { exploitation_activity: expectedActivity(LOG4J, reachDays) },
  });
});

test("a CVE has the name and the text of the first tag that names it, and empty members for the rest", async () => {
  expect(await world.get(`/v1/cve/${LOG4J}`)).toMatchObject({
    body: {
      details: {
        vulnerability_name: TAGS[0]?.name,
        vulnerability_description: "Sends a lookup.",
        cve_cvss_score: 0,
        product: "",
      },
      timeline: { cve_published_date: "" },
      exploitation_details: { epss_score: 0 },
      exploitation_stats: { number_of_available_exploits: 0 },
    },
  });
});

test("a malformed CVE and one that no tag names have the errors that clients know", async () => {
  for (const id of ["CVE-21-44228", "log4j", "CVE-2021-1", "CVE-2021-44228'"]) {
    expect(await world.get(`/v1/cve/${encodeURIComponent(id)}`)).toEqual({
      status: 400,
      body: { message: "bad query: invalid CVE format" },
    });
  }
  expect(await world.get("/v1/cve/CVE-1999-0001")).toEqual({ status: 404, body: { message: "CVE not found" } });
});

test("many are answered in the order asked, each once, without those that no tag names", async () => {
  const { status, body } = await world.post("/v3/cves", { cves: [BOTH, "x", "CVE-1999-0001", "cve-2021-44228", BOTH] });
  expect(status).toBe(200);
  expect(z.array(z.looseObject({ id: z.string() })).parse(body)).toMatchObject([
    { id: BOTH, exploitation_activity: expectedActivity(BOTH) },
    { id: LOG4J, exploitation_activity: expectedActivity(LOG4J) },
  ]);
  expect(await world.post("/v3/cves", { cves: ["CVE-1999-0001"] })).toEqual({ status: 200, body: [] });
  for (const wrong of [
    {},
    { cves: [] },
    { cves: [1] },
    { cves: "CVE-2021-44228" },
    [],
    { cves: Array(10_001).fill("x") },
  ]) {
    expect(await world.post("/v3/cves", wrong)).toEqual({
      status: 400,
      body: { message: 'The request body must be {"cves": [...]} with 1 to 10000 CVE ids' },
    });
  }
});
