import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { fullAnswer, NO_SCANNER, NO_SERVICE, openAddressWorld } from "../../support/query/address-world.ts";
import type { World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;

beforeAll(async () => {
  world = await openAddressWorld(NOW);
});
afterAll(() => world.close());

test("a noisy address has everything that its observations say, duplicates counted once", async () => {
  expect(await world.get("/v3/ip/45.0.0.1")).toEqual({
    status: 200,
    body: { ...fullAnswer(NOW), request_metadata: { restricted_fields: [] } },
  });
});

test("a benign service has the description of its list", async () => {
  expect((await world.get("/v3/ip/8.8.8.8")).body).toEqual({
    ip: "8.8.8.8",
    business_service_intelligence: {
      found: true,
      category: "public_dns",
      name: "Some DNS",
      description: "Resolvers.",
      explanation: "They resolve.",
      last_updated: `${new Date(NOW).toISOString().slice(0, 19)}Z`,
      reference: "https://example.org",
      trust_level: "1",
    },
    internet_scanner_intelligence: NO_SCANNER,
    request_metadata: { restricted_fields: [] },
  });
});

test("an unknown address is a 200 with every member there and none of them null", async () => {
  expect(await world.get("/v3/ip/45.0.0.2")).toEqual({
    status: 200,
    body: {
      ip: "45.0.0.2",
      business_service_intelligence: NO_SERVICE,
      internet_scanner_intelligence: NO_SCANNER,
      request_metadata: { restricted_fields: [] },
    },
  });
});

test.each(["true", "True", "1"])(
  "quick=%s has only whether it was found, classification and trust level",
  async (quick) => {
    expect((await world.get(`/v3/ip/45.0.0.1?quick=${quick}`)).body).toEqual({
      ip: "45.0.0.1",
      business_service_intelligence: { found: false, trust_level: "" },
      internet_scanner_intelligence: { found: true, classification: "malicious" },
      request_metadata: { restricted_fields: [] },
    });
  },
);

test.each(["1.2.3", "x"])("the address %s is a 400", async (ip) => {
  expect(await world.get(`/v3/ip/${ip}`)).toEqual({ status: 400, body: { message: "Invalid parameter: ip" } });
});

test("any scope without the entitlement is 403; with it an unrecognized one yields empty results", async () => {
  const key = await world.addCaller("unlimited");
  for (const label of ["global", "nonsense"]) {
    expect((await world.get(`/v3/ip/45.0.0.1?workspace_labels=${label}`, { key })).status).toBe(403);
  }
  expect((await world.get("/v3/ip/45.0.0.1?workspace_labels=nonsense")).body).toMatchObject({
    internet_scanner_intelligence: NO_SCANNER,
  });
  const both = await world.get("/v3/ip/45.0.0.1?workspace_labels=global,community");
  expect(both.body).toMatchObject({ internet_scanner_intelligence: { metadata: { sensor_count: 3, sensor_hits: 4 } } });
});

test("many addresses: found ones in full, the others named, each string once and as it was sent", async () => {
  const ips = ["45.0.0.1", "8.8.8.8", "45.0.0.2", "not an address", "45.0.0.1", "10.0.0.1", " 45.0.0.1"];
  const { status, body } = await world.post("/v3/ip", { ips });
  expect(status).toBe(200);
  const answer = z.object({ data: z.array(z.object({ ip: z.string() })), request_metadata: z.unknown() }).parse(body);
  expect(answer.data.map(({ ip }) => ip)).toEqual(["45.0.0.1", "8.8.8.8"]);
  expect(body).toMatchObject({ data: [fullAnswer(NOW), {}] });
  expect(answer.request_metadata).toEqual({
    restricted_fields: [],
    message: "",
    ips_not_found: ["45.0.0.2", "not an address", "10.0.0.1", " 45.0.0.1"],
  });
  expect((await world.post("/v3/ip", { ips: ["45.0.0.1"] })).body).toMatchObject({
    request_metadata: { ips_not_found: [] },
  });
});

test("10,000 addresses are all accounted for; invalid bodies are 400", async () => {
  const ips = Array.from({ length: 10_000 }, (_, index) => `46.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  const { status, body } = await world.post("/v3/ip", { ips: [...ips.slice(1), "45.0.0.1"] });
  expect(status).toBe(200);
  const answer = z
    .object({ data: z.array(z.unknown()), request_metadata: z.object({ ips_not_found: z.array(z.string()) }) })
    .parse(body);
  expect(answer.data).toHaveLength(1);
  expect(answer.request_metadata.ips_not_found).toEqual(ips.slice(1));
  for (const bad of [{}, { ips: [] }, { ips: [...ips, "1.1.1.1"] }, { ips: [1] }, [], "{", '{"ips":"1.1.1.1"}']) {
    expect((await world.post("/v3/ip", bad)).status).toBe(400);
  }
  expect(await world.post("/v3/ip", { ips: ["x".repeat(1_100_000)] })).toEqual({
    status: 400,
    body: { message: "The request body is larger than 1 MiB" },
  });
});
