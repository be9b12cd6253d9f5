import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { fullAnswer, openAddressWorld } from "../../support/query/address-world.ts";
import type { World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;

beforeAll(async () => {
  world = await openAddressWorld(NOW);
});
afterAll(() => world.close());

test("riot, context and metadata of the earlier version answer in their flat forms", async () => {
  expect((await world.get("/v2/riot/8.8.8.8")).body).toMatchObject({
    ip: "8.8.8.8",
    riot: true,
    name: "Some DNS",
    trust_level: "1",
  });
  expect((await world.get("/v2/riot/45.0.0.1")).body).toEqual({ ip: "45.0.0.1", riot: false });
  const { tags, cves, ...full } = fullAnswer(NOW).internet_scanner_intelligence;
  const { first_seen, last_seen, actor, classification, metadata, raw_data: raw } = full;
  const flat = {
    ip: "45.0.0.1",
    seen: true,
    ...{ first_seen, last_seen, actor, classification, spoofable: false, bot: false, vpn: false, vpn_service: "" },
    tor: false,
    tags: tags.map(({ name }) => name),
    cve: cves,
    metadata: {
      asn: "AS18403",
      organization: "FPT",
      category: "",
      city: "Hanoi",
      country: "Vietnam",
      country_code: "VN",
      source_country: "Vietnam",
      source_country_code: "VN",
      region: "Hanoi Region",
      rdns: "x.example.org",
      os: "",
      tor: false,
      sensor_count: metadata.sensor_count,
      sensor_hits: metadata.sensor_hits,
      destination_countries: [],
      destination_country_codes: [],
    },
    raw_data: {
      scan: raw.scan.map(({ port }) => ({ port, protocol: "TCP" })),
      web: { paths: ["/a", "/b"], useragents: ["curl"] },
      ja3: raw.ja3,
      hassh: raw.hassh,
    },
  };
  expect((await world.get("/v2/noise/context/45.0.0.1")).body).toEqual(flat);
  const ips = ["45.0.0.2", "45.0.0.1", "8.8.8.8", "no address", "45.0.0.1"];
  expect((await world.post("/v2/noise/multi/context", { ips })).body).toEqual({ message: "ok", data: [flat] });
  expect((await world.get("/v2/noise/context/45.0.0.2")).body).toEqual({ ip: "45.0.0.2", seen: false });
  const today = z.object({ tags: z.array(z.unknown()) }).parse((await world.get("/v3/tags")).body);
  expect((await world.get("/v2/meta/metadata")).body).toEqual({ metadata: today.tags });
});
