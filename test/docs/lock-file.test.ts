import { expect, test } from "vitest";
import { z } from "zod";
import { readText } from "./documents.ts";

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      dev: z.boolean().optional(),
    }),
  ),
});

async function readPackages() {
  const { packages } = lockSchema.parse(JSON.parse(await readText("package-lock.json")));
  return Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && link !== true);
}

test("every package that is installed is checked against a checksum of the lock file", async () => {
  const packages = await readPackages();
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path)).toEqual([]);
});

test("the start installs what the lock file names, and nothing beside it", async () => {
  const bootstrap = await readText("infra/bootstrap.mjs");
  const commands = [...bootstrap.matchAll(/\bnpm\(\s*"(\w+)"/g)].map(([, command]) => command);
  expect(new Set(commands)).toEqual(new Set(["ci"]));
  const { version } =
    (await readPackages()).find(([path]) => path === "node_modules/@chdb/lib-linux-x64-gnu")?.[1] ?? {};
  expect(version, "the embedded ClickHouse").toMatch(/^\d/);
});

test("a service installs at most half of the packages, and none of those that only tests need", async () => {
  const packages = await readPackages();
  const ofServices = packages.filter(([, { dev }]) => dev !== true);
  expect(ofServices.length).toBeLessThan(packages.length / 2);
  // What `npm test` recognises a complete installation by.
  expect(packages.find(([path]) => path === "node_modules/vitest")?.[1].dev).toBe(true);
});
