import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder } from "../sensors/sensor.ts";
import { makeList, writeForm } from "../support/builders/feed.ts";
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
