import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { writeEvent } from "@noisefloor/query/feeds/misp/event.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder } from "../sensors/sensor.ts";
import { FEED, makeList, objectsOf, writeForm } from "../support/builders/feed.ts";
import { runProgram } from "../support/programs.ts";
import { installStixConverter } from "./feed-clients.ts";

const attribute = z.looseObject({ type: z.string(), value: z.string() });
const eventSchema = z.looseObject({ Attribute: z.array(attribute) });

test("misp-stix 2026.10 makes an attribute of each indicator, and names it a destination", {
  timeout: 600_000,
}, async () => {
  const converter = await installStixConverter();
  const ips = Array.from({ length: 5 }, (_, index) => `192.175.48.${index + 1}`);
  const folder = await makeFolder({ "bundle.json": (await writeForm("stix", makeList(ips))).toString() });
  const file = join(folder, "bundle.json");
  await runProgram(converter, ["import", "-f", file, "-s", "-o", join(folder, "event.json")]);
  const { Attribute } = eventSchema.parse(JSON.parse(await readFile(join(folder, "event.json"), "utf8")));
  // Whoever wants ip-src reads the feed as a feed of MISP.
  expect(Attribute.map(({ type, value }) => [type, value]).sort()).toEqual(ips.map((ip) => ["ip-dst", ip]));
});

const bundleSchema = z.object({
  objects: z.array(z.looseObject({ type: z.string(), pattern: z.string().optional() })),
});

test("misp-stix 2026.10, which does not look at deleted attributes, makes no indicator of an address that left", {
  timeout: 600_000,
}, async () => {
  const converter = await installStixConverter();
  const addressesOf = (...ips: string[]) => Uint32Array.from(ips, ipv4ToNumber);
  const objects = async function* () {
    yield* objectsOf(addressesOf("192.175.48.1", "192.175.48.2"));
    yield* objectsOf(addressesOf("192.175.48.3"), {}, true);
  };
  const pieces = writeEvent({ feed: FEED, changedAt: FEED.listedAt.getTime(), objects });
  const folder = await makeFolder({ "event.json": await text(Readable.from(pieces)) });
  const files = ["-f", join(folder, "event.json"), "-o", join(folder, "bundle.json")];
  await runProgram(converter, ["export", "-v", "2.1", ...files]);
  const bundle = bundleSchema.parse(JSON.parse(await readFile(join(folder, "bundle.json"), "utf8")));
  const patterns = bundle.objects.flatMap(({ type, pattern }) => (type === "indicator" ? pattern : []));
  expect(patterns.sort()).toEqual(["192.175.48.1", "192.175.48.2"].map((ip) => expect.stringContaining(`= '${ip}'`)));
});
