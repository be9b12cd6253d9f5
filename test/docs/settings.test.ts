import { settingsSchema } from "@noisefloor/config/settings.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { IGNORED } from "@noisefloor/ingest/formats/format.ts";
import { expect, test } from "vitest";
import { readText } from "./documents.ts";

const names = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))].toSorted();

/** The first cells of all rows of a document's tables. */
const firstCells = (document: string) =>
  document
    .split("\n")
    .filter((row) => row.startsWith("| `"))
    .map((row) => row.split("|")[1] ?? "")
    .join();

test("docs/configuration.md has every setting and no other", async () => {
  const documented = names(firstCells(await readText("docs/configuration.md")), /`([A-Z][A-Z0-9_]+)`/g);
  expect(documented).toEqual(Object.keys(settingsSchema.shape).toSorted());
});

test("every variable that docker-compose.yml takes stands in env.example", async () => {
  const taken = names(await readText("docker-compose.yml"), /\$\{([A-Z][A-Z0-9_]+)/g);
  const offered = names(await readText("infra/docker/env.example"), /^#?([A-Z][A-Z0-9_]+)=/gm);
  expect(offered).toEqual(taken);
});

test("docs/ingest.md has every reason for which a record is rejected, and no other", async () => {
  const [, section = ""] = (await readText("docs/ingest.md")).split("\n## Dead letters\n");
  const documented = names(firstCells(section.split("\n## ")[0] ?? ""), /`([a-z-]+)`/g);
  expect(documented).toEqual([...REJECTION_REASONS].toSorted());
});

test("docs/ingest.md has every reason for which a record is ignored, and no other", async () => {
  const [, section = ""] = (await readText("docs/ingest.md")).split("\n## What became of each record\n");
  const documented = names(firstCells(section.split("\n## ")[0] ?? ""), /`([a-z-]+)`/g);
  expect(documented).toEqual(Object.keys(IGNORED).toSorted());
});
