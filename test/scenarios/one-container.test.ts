import { appendFile, chmod, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import getPort from "get-port";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { addressOf, observationLine } from "../support/builders/observation.ts";
import { eventually } from "../support/eventually.ts";
import { type ContainerEngine, openContainerEngine, provideBaseImage } from "../support/servers/container-engine.ts";
import { arrangeRealTpotFolder, arrangeTpotFolder, findRealLogs, TPOT_HOST } from "../support/worlds/tpot-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DOCKERFILE = join(ROOT, "infra/docker/Dockerfile");
const IMAGE = "noisefloor:one-container-test";
const START_MS = 120_000;
/** Observations of each request, and requests. */
const [SIZE, REQUESTS] = [5_000, 40];

const composeSchema = z.object({
  services: z.object({
    noisefloor: z.object({
      build: z.object({ target: z.string() }),
      read_only: z.literal(true),
      tmpfs: z.array(z.string()),
      cap_drop: z.array(z.string()),
      security_opt: z.array(z.string()),
      mem_limit: z.string(),
    }),
  }),
});

const followedSchema = z.object({
  files: z.array(z.object({ path: z.string(), state: z.string(), lag_bytes: z.int() })).nonempty(),
});

let engine: ContainerEngine;
/** The options of `docker run` that compose.small.yml says. */
let asInCompose: string[];

beforeAll(async () => {
  engine = await openContainerEngine();
  const dockerfile = await readFile(DOCKERFILE, "utf8");
  await provideBaseImage(engine, /^FROM (\S+)/m.exec(dockerfile)?.[1] ?? expect.fail("no base image"));
  const compose = composeSchema.parse(parse(await readFile(join(ROOT, "compose.small.yml"), "utf8")));
  const { build, ...limits } = compose.services.noisefloor;
  asInCompose = [
    ...["--read-only", "--memory", limits.mem_limit, "--memory-swap", limits.mem_limit],
    ...limits.tmpfs.flatMap((path) => ["--tmpfs", path]),
    ...limits.cap_drop.flatMap((name) => ["--cap-drop", name]),
    ...limits.security_opt.flatMap((option) => ["--security-opt", option]),
  ];
  await engine.docker("build", "--network", "host", "-f", DOCKERFILE, "--target", build.target, "-t", IMAGE, ROOT);
}, 1_200_000);
afterAll(async () => {
  await engine?.docker("image", "rm", "--force", IMAGE);
  await engine?.stop();
});

/** A container over a volume or folder. It answers when this resolves. */
async function startContainer(data: string, ...options: readonly string[]) {
  const port = await getPort({ host: "127.0.0.1" });
  const published = ["--publish", `127.0.0.1:${port}:8080`, "--volume", `${data}:/data`];
  const id = (await engine.docker("run", "--detach", ...asInCompose, ...published, ...options, IMAGE)).trim();
  onTestFinished(async () => {
    await engine.docker("rm", "--force", "--volumes", id);
  });
  const url = `http://127.0.0.1:${port}`;
  const inspect = async (format: string) => (await engine.docker("inspect", "--format", format, id)).trim();
  // Docker accepts connections before the service listens, and Node's fetch may wait for such a one forever.
  const isReady = async () => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).status === 200;
  await eventually(async () => expect(await isReady()).toBe(true), START_MS);
  const run = (...command: string[]) => engine.docker("exec", id, ...command);
  // The service makes its first key once it listens, while the store takes what the followed files hold.
  const key = (await eventually(() => run("sh", "-c", "cat /data/first-key-*"), START_MS)).trim();
  return {
    inspect,
    run,
    async post(lines: readonly string[]) {
      const body = lines.join("\n");
      return fetch(`${url}/v1/observations`, { method: "POST", body });
    },
    async count(query: string) {
      const asked = new URLSearchParams({ query });
      const response = await fetch(`${url}/v3/gnql/count?${asked}`, { headers: { key } });
      return z.object({ count: z.int() }).parse(await response.json()).count;
    },
    async followed() {
      const response = await fetch(`${url}/v3/followed`, { headers: { key } });
      return followedSchema.parse(await response.json()).files;
    },
    async stop() {
      await engine.docker("stop", "-t", "45", id);
      return inspect("{{.State.ExitCode}} {{.State.OOMKilled}}");
    },
  };
}

test("one container of 512 MiB stores 200,000 observations and answers exactly, and the next one over its volume goes on", async () => {
  const volume = `noisefloor-test-${process.pid}`;
  onTestFinished(async () => {
    await engine.docker("volume", "rm", "--force", volume);
  });
  const first = await startContainer(volume);
  const start = Date.now() - 86_400_000;
  for (let request = 0; request < REQUESTS; request++) {
    const lines = Array.from({ length: SIZE }, (_, index) =>
      observationLine(addressOf(index, request), start + index * 1_000, { destination_port: 1 + request }),
    );
    expect((await first.post(lines)).status).toBe(202);
  }
  expect(await first.count("*")).toBe(SIZE * REQUESTS);
  expect(await first.count("port:7 OR port:[20 TO 29]")).toBe(SIZE * 11);
  await expect.poll(() => first.inspect("{{.State.Health.Status}}"), { timeout: 60_000 }).toBe("healthy");
  expect(await first.stop(), "exit code, and whether it was killed for its memory").toBe("0 false");

  const second = await startContainer(volume);
  expect(await second.count("*")).toBe(SIZE * REQUESTS);
  expect((await second.post([observationLine("45.200.0.1", Date.now())])).status).toBe(202);
  await expect.poll(() => second.count("*")).toBe(SIZE * REQUESTS + 1);
}, 600_000);

/** A week is found within so long, and a line that is written now; minutes and not seconds where others use the machine. */
const WEEK_MS = 240_000;
const LINE_MS = 30_000;

test("beside T-Pot: one command, and its week is found, also the lines of real sensors, and what Cowrie writes now", async () => {
  const [folder, volume] = [await mkdtemp("/var/tmp/noisefloor-tpot-"), `noisefloor-tpot-${process.pid}`];
  onTestFinished(async () => {
    await engine.docker("volume", "rm", "--force", volume);
    await rm(folder, { recursive: true });
  });
  const { visits } = await arrangeTpotFolder(folder, { until: Date.now() - 60_000, visitsADay: 100 });
  const host = TPOT_HOST.name;
  // Real logs are years old.
  const settings = ["TPOT_DATA=/tpot", "RETENTION_DAYS=3650", "FOLLOW=real=cowrie:/tpot/real/cowrie/log/cowrie.json*"];
  const asTpot = ["--volume", `${folder}:/tpot:ro`, ...settings.flatMap((setting) => ["--env", setting])];
  const logs = findRealLogs();
  const real = logs === undefined ? undefined : await arrangeRealTpotFolder(`${folder}/real`, logs);
  await chmod(folder, 0o755);
  const container = await startContainer(volume, ...asTpot);
  const found = new Set(visits.map(({ ip }) => ip)).size;
  await expect.poll(() => container.count(`sensor:${host}`), { timeout: WEEK_MS, interval: 1_000 }).toBe(found);
  const unstored = async () => (await container.followed()).filter(({ lag_bytes }) => lag_bytes > 0);
  await expect.poll(unstored, { timeout: WEEK_MS, interval: 1_000 }).toEqual([]);
  // Searches reach back 90 days; what a removal would delete is counted over all of the retention.
  const ofReal = await container.run("noisefloor", "observations", "remove", "--sensor=real", "--dry-run", "--json");
  const expectedOf = (what: string) => real?.get("Cowrie")?.counts.find(({ name }) => name === what)?.expected ?? 0;
  expect(JSON.parse(ofReal)).toMatchObject({ observations: expectedOf("sessions"), addresses: expectedOf("sources") });
  for (let number = 1; number <= 3; number++) {
    await appendFile(`${folder}/cowrie/log/cowrie.json`, cowrieVisit(number));
    await expect.poll(() => container.count(`sensor:${host}`), { timeout: LINE_MS }).toBe(found + number);
  }
  expect(await container.stop(), "exit code, and whether it was killed for its memory").toBe("0 false");
}, 600_000);

/** A visit now, of an address that no other visit has. */
function cowrieVisit(number: number): string {
  const visit = {
    eventid: "cowrie.session.connect",
    timestamp: new Date().toISOString(),
    session: `now${number}`,
    src_ip: `45.64.0.${number}`,
    dst_port: 2222,
    protocol: "ssh",
    sensor: "pot",
  };
  return `${JSON.stringify(visit)}\n`;
}

test("a folder of T-Pot that the container's user may not read is named, with what helps, and so is that of a followed file", async () => {
  const [folder, volume] = [await mkdtemp("/var/tmp/noisefloor-tpot-"), `noisefloor-unreadable-${process.pid}`];
  onTestFinished(async () => {
    await engine.docker("volume", "rm", "--force", volume);
    await rm(folder, { recursive: true });
  });
  await chmod(folder, 0o770);
  const mounted = ["--volume", `${folder}:/tpot:ro`, "--env"];
  const asTpot = ["--rm", ...asInCompose, "--volume", `${volume}:/data`, ...mounted, "TPOT_DATA=/tpot"];
  await expect(engine.docker("run", ...asTpot, IMAGE)).rejects.toThrow(
    "TPOT_DATA: user 1000 may not read /tpot: T-Pot's files are those of group 2000",
  );
  const { followed } = await startContainer(volume, ...mounted, "FOLLOW=/tpot/cowrie.json*,/tpot/kern.log");
  for (const path of ["/tpot/cowrie.json*", "/tpot/kern.log"])
    expect(await followed()).toContainEqual(expect.objectContaining({ path, state: "unreadable" }));
});

test("the container's process is no root, and may write nothing but its data", async () => {
  const volume = `noisefloor-rights-${process.pid}`;
  onTestFinished(async () => {
    await engine.docker("volume", "rm", "--force", volume);
  });
  const { run } = await startContainer(volume);
  expect((await run("id", "-u")).trim()).toBe("1000");
  await run("touch", "/data/file", "/tmp/file");
  await expect(run("touch", "/app/file")).rejects.toThrow("Read-only file system");
});

test("a volume that belongs to another user is named, with the command that helps", async () => {
  const folder = await mkdtemp("/var/tmp/noisefloor-foreign-");
  onTestFinished(() => rm(folder, { recursive: true }));
  await chown(folder, 4_711, 4_711);
  await chmod(folder, 0o700);
  await expect(engine.docker("run", "--rm", ...asInCompose, "--volume", `${folder}:/data`, IMAGE)).rejects.toThrow(
    /the data directory \/data cannot be used: EACCES.*must belong to user 1000 \("chown -R 1000 FOLDER" as root\)/,
  );
  await chown(folder, 1_000, 1_000);
  await startContainer(folder);
});
