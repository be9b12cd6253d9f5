import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { settingsSchema } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFile(fileURLToPath(new URL(path, ROOT)), "utf8");

const names = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))].toSorted();

test("the README's table of settings has every variable and no other", async () => {
  const [, section = ""] = (await read("README.md")).split("\n## Settings\n");
  const rows = section.split("\n## ")[0]?.split("\n") ?? [];
  const cells = rows.filter((row) => row.startsWith("| `")).map((row) => row.split("|")[1] ?? "");
  expect(names(cells.join(), /`([A-Z][A-Z0-9_]+)`/g)).toEqual(Object.keys(settingsSchema.shape).toSorted());
});

test("every variable that docker-compose.yml takes stands in env.example", async () => {
  const taken = names(await read("docker-compose.yml"), /\$\{([A-Z][A-Z0-9_]+)/g);
  const offered = names(await read("infra/docker/env.example"), /^#?([A-Z][A-Z0-9_]+)=/gm);
  expect(offered).toEqual(taken);
});
