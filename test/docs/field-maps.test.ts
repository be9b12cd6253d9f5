import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { IGNORED } from "@noisefloor/ingest/formats/format.ts";
import { expect, test } from "vitest";
import { PLAIN } from "../support/ingest/decode.ts";
import { formatOf, mapsAlong, readAs } from "../support/ingest/field-maps.ts";
import { readText } from "./documents.ts";

/** The blocks of the chapter in a language, in order. */
async function readBlocks(language: string): Promise<string[]> {
  const document = await readText("docs/sensors.md");
  const chapter = document.slice(document.indexOf("## An unlisted sensor"), document.indexOf("## Ways in"));
  return [...chapter.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, block = ""]) => block);
}

test("the field maps in the documentation read the lines beside them, as it says", async () => {
  const [doorbell = "", gate = "", vault = "", ...others] = await readBlocks("yaml");
  const [gateLines = "", vaultLines = ""] = await readBlocks("text");
  expect(others).toEqual([]);
  const ring = { product: "doorbell", when: 1795179600, peer: { ip: "45.83.64.21" }, local: { port: "23" }, user: "x" };
  const outcomes = async (map: string, content: string) =>
    (await readAs(content, [formatOf(map)])).map(({ ignored, value }) => ignored ?? value);
  const criteria = { now: PLAIN.now(), retentionDays: 100, right: "everything" } as const;
  const read = [
    ...(await outcomes(doorbell, JSON.stringify(ring))),
    ...(await outcomes(gate, gateLines)),
    ...(await outcomes(vault, vaultLines)),
  ];
  expect(read).toMatchObject([
    { source_ip: "45.83.64.21", destination_port: 23, application: "telnet" },
    { sensor_id: "gate-2", source_ip: "45.83.64.21", source_port: 51234, credentials: [{ username: "root" }] },
    "operator",
    "header",
    { source_ip: "45.83.64.21", destination_port: 21, credentials: [{ username: "ro;ot", password: "example" }] },
  ]);
  for (const value of read) {
    if (typeof value === "object") expect(validateObservation(value, criteria)).toHaveProperty("observation");
  }
  for (const map of [gate, vault]) {
    expect(formatOf(map).text?.recognizes((map === gate ? gateLines : vaultLines).split("\n")[0] ?? "")).toBe(true);
  }
});

test("the documentation names every reason to ignore, and every map that comes along", async () => {
  const document = await readText("docs/sensors.md");
  for (const reason of Object.keys(IGNORED)) expect(document).toContain(`\`${reason}\``);
  for (const { name } of mapsAlong()) expect(document).toContain(`| \`${name}\` |`);
});
