import { appendFile, copyFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { readServerNote } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { atVolume } from "../support/volume.ts";
import { openCommandLine, type Service } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";
import { arrangeTpotFolder, TPOT_HOST } from "../support/worlds/tpot-folder.ts";

/** For busy machines. */
const WAIT_MS = 150_000;
const answerSchema = z.object({ count: z.int() });
const followedSchema = z.object({
  files: z.array(z.object({ path: z.string(), state: z.string(), lag_bytes: z.int(), detail: z.string() })),
});
const storedQuery = defineQuery({
  name: "test-followed",
  sql: "SELECT count() AS observations FROM observations FINAL",
  params: z.object({}),
  row: z.object({ observations: z.int() }),
});

/** A visit to Cowrie, now. */
let visits = 0;
const visit = (ip: string) =>
  `${JSON.stringify({
    eventid: "cowrie.session.connect",
    timestamp: new Date().toISOString(),
    session: `now${++visits}`,
    src_ip: ip,
    dst_port: 22,
    protocol: "ssh",
    sensor: "pot",
  })}\n`;

async function openHost() {
  const commandLine = await openCommandLine();
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-follow-"));
  onTestFinished(async () => {
    await commandLine.close();
    await rm(folder, { recursive: true, force: true });
  });
  let key = "";
  const ask = async <T extends z.ZodType>(service: Service, path: string, schema: T): Promise<z.output<T>> => {
    if (key === "") {
      const name = (await readdir(commandLine.dataDir)).find((entry) => entry.startsWith("first-key-")) ?? "";
      key = (await readFile(join(commandLine.dataDir, name), "utf8")).trim();
    }
    return schema.parse(await (await fetch(`${service.url}${path}`, { headers: { key } })).json());
  };
  const countAddresses = async (service: Service, query: string) =>
    (await ask(service, `/v3/gnql/count?query=${encodeURIComponent(query)}`, answerSchema)).count;
  return {
    commandLine,
    folder,
    countAddresses,
    followed: async (service: Service) => (await ask(service, "/v3/followed", followedSchema)).files,
    async countStored() {
      const note = await readServerNote(commandLine.dataDir);
      const client = connect(note?.connection ?? expect.fail("no server runs"), "noisefloor-tests");
      try {
        return (await runForOne(client, storedQuery, {})).observations;
      } finally {
        await client.close();
      }
    },
  };
}

test("beside T-Pot: its week is found, what Cowrie writes now too, and nothing twice after a kill and a rotation", async () => {
  const host = await openHost();
  const { commandLine, countAddresses } = host;
  const tpot = join(host.folder, "tpot");
  await mkdir(tpot);
  const { visits } = await arrangeTpotFolder(tpot, { until: Date.now() - 60_000, days: atVolume(3, 7) });
  const start = () => commandLine.startService([], { TPOT_DATA: tpot });
  const ofTpot = `sensor:${TPOT_HOST.name}`;
  const addresses = new Set(visits.map(({ ip }) => ip)).size;
  const cowrie = join(tpot, "cowrie/log/cowrie.json");
  const grows = async (service: Service, number: number) =>
    eventually(async () => expect(await countAddresses(service, ofTpot)).toBe(addresses + number), WAIT_MS);

  let service = await start();
  await grows(service, 0);
  expect(await host.countStored()).toBe(visits.length);
  await appendFile(cowrie, visit("45.64.0.1"));
  await grows(service, 1);

  service.child.kill("SIGKILL");
  await service.finished;
  // T-Pot's rotation at its start: a copy, and the file is emptied.
  await appendFile(cowrie, visit("45.64.0.2"));
  await copyFile(cowrie, `${cowrie}.1`);
  await truncate(cowrie);
  await appendFile(cowrie, visit("45.64.0.3"));
  service = await start();
  await grows(service, 3);
  expect(await host.countStored()).toBe(visits.length + 3);
  const files = await host.followed(service);
  expect(files.filter(({ lag_bytes, state }) => lag_bytes > 0 || state !== "following")).toEqual([]);
  const status = await runInProcess(["status"], { DATA_DIR: commandLine.dataDir });
  expect(status.stdout).toMatch(/files +\d+ following; all is stored/);
});

test("noisefloor follow ships a file to another intake, and each record counts once, also of one that it has sent before", async () => {
  const host = await openHost();
  const { commandLine, countAddresses } = host;
  const log = join(host.folder, "cowrie.json");
  const own = (ip: string) =>
    `${JSON.stringify({ observed_at: new Date().toISOString(), sensor_id: "own", source_ip: ip, transport: "tcp", destination_port: 22 })}\n`;
  await writeFile(log, visit("45.65.0.1"));
  await writeFile(join(host.folder, "own.ndjson"), own("45.65.1.1"));
  const service = await commandLine.startService();
  const shipper = () =>
    commandLine.run(["follow", `edge=${log}`, join(host.folder, "own.*"), "--to", service.url], {
      DATA_DIR: join(host.folder, "shipper"),
    });
  let running = shipper();
  await eventually(async () => expect(await countAddresses(service, "ip:45.65.0.0/16")).toBe(2), WAIT_MS);
  expect(await countAddresses(service, "sensor:edge")).toBe(1);
  running.child.kill("SIGKILL");
  await running.finished;
  await appendFile(log, visit("45.65.0.2"));
  await appendFile(join(host.folder, "own.ndjson"), own("45.65.1.2"));
  running = shipper();
  await eventually(async () => expect(await countAddresses(service, "ip:45.65.0.0/16")).toBe(4), WAIT_MS);
  expect(await host.countStored()).toBe(4);
  running.child.kill("SIGTERM");
  expect((await running.finished).code).toBe(0);
});

test("a setting that cannot be followed ends the start with its reason", async () => {
  const wrong = await runInProcess(["follow", "cowry:/var/log/cowrie.json"], {});
  expect(wrong.stderr).toContain('there is no log format "cowry"');
  const inside = await runInProcess(["follow", "./data/x.json"], { DATA_DIR: "./data" });
  expect(inside.stderr).toContain("is inside the data directory");
});
