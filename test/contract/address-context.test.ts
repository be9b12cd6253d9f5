import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../support/builders/network-list.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const SEEN = NOW - 3 * 86_400_000;
const worm = makeTag("worm", "malicious", { cves: ["CVE-2026-0001"] });
let world: ServedWorld;
let key: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"], { trustLevel: "2" })]);
  key = await world.addCaller("unlimited", ["community_dataset"]);
  const said = { observed_at: new Date(SEEN).toISOString(), sensor_id: "s", destination_port: 445, transport: "tcp" };
  await world.store([{ ...said, established: true, source_ip: "45.0.0.1", tags: ["worm"] }]);
});
afterAll(() => world.close());

const SERVICE = "category description explanation found last_updated name reference trust_level";
const SCANNER =
  "actor bot classification contact cves first_seen found last_seen last_seen_timestamp metadata raw_data spoofable tags tor vpn vpn_service";

/** An answer that is as described, so of the described types. */
async function get(path: string): Promise<unknown> {
  const { status, body } = await world.get(`/v3/ip/${path}`, { key });
  expect([path, status]).toEqual([path, 200]);
  return body;
}

/** Its two parts. */
async function read(ip: string) {
  const { business_service_intelligence: service, internet_scanner_intelligence: scanner } = Object(await get(ip));
  return { service, scanner };
}

/** As the Python SDK sends it. */
async function post(query: string, ips: readonly string[]) {
  const headers = { key, "content-type": "application/json", accept: "*/*" };
  const answer = await fetch(`${world.url}/v3/ip${query}`, { method: "POST", headers, body: JSON.stringify({ ips }) });
  expect(answer.status).toBe(200);
  const shape = z.strictObject({
    data: z.array(z.looseObject({ ip: z.string() })),
    request_metadata: z.strictObject({
      restricted_fields: z.array(z.string()),
      message: z.string(),
      ips_not_found: z.array(z.string()),
    }),
  });
  return shape.parse(await answer.json());
}

test("every member is there and of its type, whether the address is noise, riot or neither", async () => {
  for (const ip of ["45.0.0.1", "8.8.8.8", "45.9.9.9"]) {
    const { service, scanner } = await read(ip);
    expect(Object.keys(service).sort().join(" ")).toBe(SERVICE);
    expect(Object.keys(scanner).sort().join(" ")).toBe(SCANNER);
    // The Python SDK would take a message at its top for an error, and not keep the answer.
    const parts = ["business_service_intelligence", "internet_scanner_intelligence", "ip", "request_metadata"];
    expect(Object.keys(Object(await get(ip))).sort()).toEqual(parts);
  }
});

test("an unknown address is a 200 that says found: false twice, with empty metadata and raw_data", async () => {
  const { service, scanner } = await read("45.9.9.9");
  expect([service.found, scanner.found, scanner.metadata, scanner.raw_data]).toEqual([false, false, {}, {}]);
});

test("an address of an unknown place has no coordinates, which a map would show in the Gulf of Guinea", async () => {
  const { metadata } = (await read("45.0.0.1")).scanner;
  expect(metadata).toMatchObject({ source_city: "", sensor_hits: expect.any(Number) });
  expect(Object.keys(metadata)).not.toEqual(expect.arrayContaining(["longitude"]));
  expect(Object.keys(metadata)).not.toEqual(expect.arrayContaining(["latitude"]));
});

test("a tag carries its day twice, as created and as created_at", async () => {
  const [tag] = (await read("45.0.0.1")).scanner.tags;
  expect(tag).toMatchObject({ created: worm.created_at, created_at: worm.created_at });
});

test("quick takes Python's True and False beside true, false, 1 and 0, and nothing else", async () => {
  for (const quick of ["true", "True", "1"]) {
    expect(await get(`45.0.0.1?quick=${quick}`)).toStrictEqual({
      ip: "45.0.0.1",
      business_service_intelligence: { found: false, trust_level: "" },
      internet_scanner_intelligence: { found: true, classification: "malicious" },
      request_metadata: { restricted_fields: [] },
    });
  }
  for (const quick of ["false", "False", "0"]) {
    expect(await get(`45.0.0.1?quick=${quick}`)).toEqual(await get("45.0.0.1"));
  }
  for (const quick of ["TRUE", "yes", "", "2"]) {
    const answer = await fetch(`${world.url}/v3/ip/45.0.0.1?quick=${quick}`);
    expect([answer.status, await answer.json()]).toEqual([400, { message: expect.stringContaining("quick") }]);
  }
});

test("what is no address is 400 with the text clients know", async () => {
  for (const ip of ["1.2.3", "10.0.0.256", "x"]) {
    const answer = await fetch(`${world.url}/v3/ip/${ip}`);
    expect([answer.status, await answer.text()]).toEqual([400, '{"message":"Invalid parameter: ip"}']);
  }
});

test.each([
  ...["10.0.0.1", "127.0.0.1", "192.168.1.1", "203.0.113.9", "224.0.0.1"].map((ip) => [ip, "not routable"]),
  ...["::1", "2001:db8::1"].map((ip) => [ip, "IPv6 is not supported"]),
] as [string, string][])("the 400 for the address %s begins with that text and says why: %s", async (ip, why) => {
  for (const path of [`ip/${ip}`, `noise/ips/${ip}/timeline`, `noise/ips/${ip}/tags`]) {
    const answer = await fetch(`${world.url}/v3/${path}`);
    expect([path, answer.status]).toEqual([path, 400]);
    expect(await answer.json()).toStrictEqual({ message: expect.stringContaining(`Invalid parameter: ip (${why}`) });
  }
});

test("the Python SDK's bulk calls: found rows carry ip, all others are in ips_not_found", async () => {
  for (const query of ["", "?quick=true"]) {
    const { data, request_metadata: metadata } = await post(query, ["45.0.0.1", "8.8.8.8", "45.9.9.9"]);
    expect(data.map(({ ip }) => ip)).toEqual(["45.0.0.1", "8.8.8.8"]);
    expect(metadata).toEqual({ restricted_fields: [], message: "", ips_not_found: ["45.9.9.9"] });
  }
});

test("ips_not_found is always there, also when every address was found or none", async () => {
  expect((await post("?quick=true", ["45.0.0.1"])).request_metadata.ips_not_found).toEqual([]);
  const none = await post("", ["45.9.9.9"]);
  expect([none.data, none.request_metadata.ips_not_found]).toEqual([[], ["45.9.9.9"]]);
});

test("each string comes back once and byte for byte, addresses or not", async () => {
  const odd = [" 45.0.0.1", "45.0.0.1 ", "045.0.0.1", "::FFFF:1.2.3.4", "ünï", "10.0.0.1", "", "a\nb", '"', "😀"];
  const { data, request_metadata: metadata } = await post("", [...odd, "45.0.0.1", ...odd, "45.0.0.1"]);
  expect(data.map(({ ip }) => ip)).toEqual(["45.0.0.1"]);
  expect(metadata.ips_not_found).toEqual(odd);
});

test("10,000 addresses are all accounted for; invalid bodies are 400", async () => {
  const ips = Array.from({ length: 10_000 }, (_, index) => `46.0.${index >> 8}.${index & 255}`);
  const { data, request_metadata: metadata } = await post("", [...ips.slice(1), "45.0.0.1"]);
  expect([data.length, metadata.ips_not_found]).toEqual([1, ips.slice(1)]);
  const bodies = ["", "{", "null", "[]", "{}", '{"ips":[]}', '{"ips":"1.2.3.4"}', '{"ips":[null]}', '{"ips":[1]}'];
  for (const body of [...bodies, JSON.stringify({ ips: [...ips, "1.1.1.1"] })]) {
    expect(await world.post("/v3/ip", body)).toEqual({ status: 400, body: { message: expect.stringMatching(/\S/) } });
  }
  expect(await world.post("/v3/ip", { ips: ["x".repeat(1024 * 1024)] })).toEqual({
    status: 400,
    body: { message: "The request body is larger than 1 MiB" },
  });
});

test("a body is read as JSON whatever its Content-Type says, or without one, as curl -d sends it", async () => {
  const types = ["application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8", "nonsense", ";"];
  for (const path of ["/v3/ip", "/v2/noise/multi/quick", "/v2/noise/multi/context"]) {
    for (const type of [...types, undefined]) {
      const answer = await world.app.inject({
        method: "POST",
        url: path,
        headers: { key, ...(type === undefined ? {} : { "content-type": type }) },
        payload: Buffer.from('{"ips":["45.0.0.1"]}'),
      });
      expect([path, type, answer.statusCode]).toEqual([path, type, 200]);
      expect(answer.body).toContain('"45.0.0.1"');
    }
    for (const body of ["ips=45.0.0.1", ""]) {
      const answer = await fetch(world.url + path, {
        method: "POST",
        body: new URLSearchParams(body),
        headers: { key },
      });
      expect([path, answer.status, await answer.json()]).toEqual([
        path,
        400,
        { message: expect.stringMatching(/body/) },
      ]);
    }
  }
});

test("scopes: any value without the entitlement is 403, with it an unrecognized one finds nothing without an error", async () => {
  const plain = await world.addCaller("unlimited");
  const payload = { method: "POST", body: '{"ips":["45.0.0.1"]}' };
  for (const labels of ["global", "greynoise", "community", "personal", "nonsense"]) {
    for (const headers of [{}, { key: plain }]) {
      const query = `?workspace_labels=${labels}`;
      const single = await fetch(`${world.url}/v3/ip/45.0.0.1${query}`, { headers });
      const bulk = await fetch(`${world.url}/v3/ip${query}`, {
        ...payload,
        headers: { ...headers, "content-type": "application/json" },
      });
      expect([labels, single.status, bulk.status]).toEqual([labels, 403, 403]);
      expect(await single.json()).toEqual({ message: expect.stringMatching(/\S/) });
    }
  }
  expect(await get("45.0.0.1?workspace_labels=nonsense")).toMatchObject({
    internet_scanner_intelligence: { found: false },
  });
  expect((await post("?workspace_labels=nonsense", ["45.0.0.1"])).request_metadata.ips_not_found).toEqual(["45.0.0.1"]);
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
