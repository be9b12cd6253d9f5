import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

test("every alert asks for figures that there are, and says what to look at", async () => {
  const { groups } = rulesSchema.parse(parse(await readFile(join(ROOT, "infra/prometheus/alerts.yaml"), "utf8")));
  const sources = ["libs", "services"].map(async (folder) => {
    const files = await readdir(join(ROOT, folder), { recursive: true });
    const ours = files.filter((file) => file.endsWith(".ts") && !file.includes("node_modules"));
    return Promise.all(ours.map((file) => readFile(join(ROOT, folder, file), "utf8")));
  });
  const code = (await Promise.all(sources)).flat().join("\n");
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(5);
  for (const { alert, expr, annotations } of rules) {
    const names = [...expr.matchAll(/\bnoisefloor_\w+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ""));
    expect(names.length, alert).toBeGreaterThan(0);
    for (const name of names) expect(code, `${alert} asks for ${name}`).toContain(`"${name}"`);
    expect(annotations.description.length, alert).toBeGreaterThan(20);
  }
});
