import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runNetworksImport, runNetworksRemove } from "@noisefloor/cli/commands/networks.ts";
import { addStarterNetworks } from "@noisefloor/cli/networks/starter-networks.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { runCommand } from "../../support/commands/run-command.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW);
});
afterEach(() => world.close());

const community = async (ip: string) => {
  await world.refresh();
  return (await world.get(`/v3/community/${ip}`)).body;
};

test("a new store knows well known services and scan operators by name", async () => {
  expect(await addStarterNetworks(world.client)).toBeGreaterThan(60);
  await world.store([observation("167.94.138.7", NOW)]);
  expect(await community("8.8.8.8")).toMatchObject({ riot: true, classification: "benign", name: "Google Public DNS" });
  expect(await community("1.1.1.1")).toMatchObject({ riot: true, name: "Cloudflare 1.1.1.1" });
  expect(await community("52.1.2.3")).toMatchObject({ riot: true, name: "Amazon Web Services" });
  expect(await community("167.94.138.7")).toMatchObject({ noise: true, classification: "benign", name: "Censys" });
  expect((await world.get("/v3/ip/52.1.2.3?quick=true")).body).toMatchObject({
    business_service_intelligence: { found: true, trust_level: "3" },
  });
});

test("later starts add no list again, not even one that was removed", async () => {
  await addStarterNetworks(world.client);
  const { failure } = await runCommand(world, (command) =>
    runNetworksRemove("service", ["google-public-dns", "google"], command),
  );
  expect(failure).toBe("");
  expect(await addStarterNetworks(world.client)).toBe(0);
  expect(await community("8.8.8.8")).toMatchObject({ riot: false });
});

test("a store to which lists of one kind were imported gets starter lists of the other kind alone", async () => {
  await world.replaceNetworks("service", [networkList("own", ["5.0.0.0/24"])]);
  expect(await addStarterNetworks(world.client)).toBeGreaterThan(10);
  await world.store([observation("167.94.138.7", NOW)]);
  expect(await community("8.8.8.8")).toMatchObject({ riot: false });
  expect(await community("167.94.138.7")).toMatchObject({ name: "Censys" });
});

test("a list that the user imports under the same id takes a starter list's place, however small it is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await addStarterNetworks(world.client);
  const file = join(folder, "wikimedia.json");
  await writeFile(file, JSON.stringify({ name: "x", type: "cidr", list: ["5.0.0.0/24"] }));
  const { failure } = await runCommand(world, (command) =>
    runNetworksImport("service", file, { force: false }, command),
  );
  expect(failure).toBe("");
  expect(await community("5.0.0.1")).toMatchObject({ riot: true, name: "Wikimedia Foundation" });
  expect(await community("208.80.152.1")).toMatchObject({ riot: false });
  expect(await community("8.8.8.8"), "the others stay").toMatchObject({ riot: true });
});
