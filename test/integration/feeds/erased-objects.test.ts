import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const MINUTE = 60_000;
let now = Math.floor(Date.now() / 1_000) * 1_000;
const SEEN = now - 37 * MINUTE - 11_000;
const [ERASED, ELSEWHERE, LEFT] = ["45.0.0.50", "45.0.0.51", "45.0.0.52"];
/** What must not be told of the removed observations any more. */
const FACTS = new RegExp(`secretive|${new Date(SEEN).toISOString().slice(0, 19)}|"malicious"|,malicious,`);

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("secretive", "malicious"), makeTag("harmless", "suspicious")]);
  await world.store([
    ...[ERASED, ELSEWHERE, LEFT].map((ip) => observation(ip, SEEN, { tags: ["secretive"] })),
    observation(ELSEWHERE, SEEN - MINUTE, { sensor_id: "other", tags: ["harmless"] }),
  ]);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const send = async (url: string, options: { method?: "GET" | "POST" | "PUT"; payload?: object | string } = {}) => {
  const headers = {
    key,
    ...(typeof options.payload === "string" ? { "content-type": "multipart/form-data; boundary=b" } : {}),
  };
  return world.app.inject({ method: "GET", url, ...options, headers });
};
const put = async (query: string) => {
  now += 1_000;
  return z
    .object({ id: z.string() })
    .parse((await send("/v3/feeds/edge", { method: "PUT", payload: { query } })).json());
};

const pageSchema = z.object({ objects: z.array(z.looseObject({ name: z.string().optional() })).default([]) });
const eventSchema = z.object({ Event: z.object({ Attribute: z.array(z.looseObject({ value: z.string() })) }) });

test("after a removal no answer, kept or new, tells more of an address than that it is gone", async () => {
  await put(`ip:${ERASED} OR ip:${ELSEWHERE} OR ip:${LEFT}`);
  await send("/v3/feeds/edge.stix");
  const { id } = await put(`ip:${ERASED} OR ip:${ELSEWHERE}`);
  const objects = `/taxii2/root/collections/${id}/objects/`;
  const first = await send("/v3/feeds/edge.stix");
  const { uuid } = z.object({ uuid: z.string() }).parse(
    (
      await send("/v2/analyze/upload", {
        method: "POST",
        payload: `--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n${ERASED} ${LEFT}\r\n--b--\r\n`,
      })
    ).json(),
  );
  const paths = [
    `${objects}?added_after=2020-01-01T00:00:00Z`,
    objects.replace("objects", "manifest"),
    `/v3/feeds/edge/misp/${id}.json`,
    ...["stix", "csv", "ndjson", "json", "mmdb", "iprep", "dnsbl"].map((form) => `/v3/feeds/edge.${form}`),
    ...["stix", "csv", "json"].map((form) => `/v3/feeds/edge.${form}?since=${String(first.headers["feed-cursor"])}`),
    `/v2/analyze/${uuid}`,
    ...[ERASED, ELSEWHERE, LEFT].flatMap((ip) => [
      `/v3/ip/${ip}`,
      `/v3/noise/ips/${ip}/observations`,
      `/v3/community/${ip}`,
    ]),
    "/v3/gnql?query=ip:45.0.0.0/24",
    "/v3/gnql/stats?query=ip:45.0.0.0/24",
  ];
  const telling = async () => {
    const bodies = await Promise.all(paths.map(async (path) => [path, (await send(path)).body] as const));
    return bodies.flatMap(([path, body]) => (FACTS.test(body) ? path : []));
  };
  expect((await telling()).length).toBeGreaterThan(10);

  await removeObservations(world.client, { addresses: [ERASED, LEFT] });
  await removeObservations(world.client, { addresses: [ELSEWHERE], sensors: ["s"] });
  now += 2 * MINUTE;
  expect(await telling()).toEqual([]);

  const page = pageSchema.parse((await send(`${objects}?added_after=2020-01-01T00:00:00Z`)).json());
  const indicator = (ip: string) => page.objects.find(({ name }) => name === ip);
  for (const ip of [ERASED, LEFT]) {
    const time = indicator(ip)?.modified;
    expect(indicator(ip), ip).toEqual({
      ...{ type: "indicator", spec_version: "2.1", id: expect.stringMatching(/^indicator--/), revoked: true, name: ip },
      ...{ created_by_ref: expect.any(String), created: time, modified: time, valid_from: time },
      ...{ pattern: `[ipv4-addr:value = '${ip}']`, pattern_type: "stix" },
    });
  }
  expect(indicator(ELSEWHERE)).toMatchObject({
    labels: ["harmless", "spoofable"],
    indicator_types: ["anomalous-activity"],
  });
  const { Attribute } = eventSchema.parse((await send(`/v3/feeds/edge/misp/${id}.json`)).json()).Event;
  expect(Attribute.find(({ value }) => value === ERASED)).toEqual({
    ...{ uuid: expect.any(String), type: "ip-src", category: "Network activity", value: ERASED },
    ...{ to_ids: false, timestamp: expect.any(String), comment: "", deleted: true },
  });
});

test("an address that comes back is told of from then on alone", async () => {
  const back = now;
  await world.store([observation(ERASED, back, { tags: ["harmless"] })]);
  now += 2 * MINUTE;
  const { objects } = pageSchema.parse((await send("/v3/feeds/edge.stix")).json());
  const found = objects.find(({ name }) => name === ERASED);
  expect(found).toMatchObject({
    labels: ["harmless", "spoofable"],
    valid_from: new Date(back).toISOString().replace(".000Z", "Z"),
  });
  expect(Date.parse(z.string().parse(found?.created))).toBeGreaterThan(SEEN + 30 * MINUTE);
  expect(found).not.toHaveProperty("revoked");
});
