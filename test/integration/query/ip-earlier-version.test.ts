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

test("an address as IPv6 maps it is that address in every call, and lists have it as it was sent", async () => {
  const [mapped, inHex] = ["::ffff:45.0.0.1", "0:0:0:0:0:FFFF:2d00:1"];
  for (const path of [
    "/v3/ip/{ip}",
    "/v3/ip/{ip}?quick=true",
    "/v3/noise/ips/{ip}/timeline",
    "/v3/noise/ips/{ip}/tags",
    "/v3/noise/networks/{ip}/24",
    "/v2/noise/context/{ip}",
    "/v2/riot/{ip}",
  ]) {
    const { status, body } = await world.get(path.replace("{ip}", "45.0.0.1"));
    for (const ip of [mapped, inHex]) {
      const answer = await world.get(path.replace("{ip}", ip));
      expect([path, answer.status, withoutTimes(answer.body)]).toEqual([path, status, withoutTimes(body)]);
    }
  }
  const ips = [mapped, "45.0.0.1", inHex, "::ffff:10.0.0.1"];
  const sent = ips.slice(0, 3).map((ip) => ({ ip }));
  for (const more of ["", "?quick=true"]) {
    expect((await world.post(`/v3/ip${more}`, { ips })).body).toMatchObject({
      data: sent,
      request_metadata: { ips_not_found: ["::ffff:10.0.0.1"] },
    });
  }
  expect((await world.post("/v2/noise/multi/context", { ips })).body).toMatchObject({ data: sent });
  const codes = [...sent.map((one) => ({ ...one, code: "0x01" })), { ip: "::ffff:10.0.0.1", code: "0x07" }];
  expect((await world.post("/v2/noise/multi/quick", { ips })).body).toMatchObject(codes);
  expect((await world.get(`/v2/noise/quick/${mapped}`)).body).toMatchObject({ ip: mapped, code: "0x01" });
  expect((await world.get(`/v3/ip/::ffff:10.0.0.1`)).body).toHaveProperty(
    "message",
    expect.stringMatching(/not routable/),
  );
});

/** A timeline ends when it was asked for. */
const withoutTimes = (body: unknown) => ({ ...Object(body), metadata: undefined });
