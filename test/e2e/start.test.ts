import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findRunning } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import getPort from "get-port";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type CommandLine, openCommandLine, type Service } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

/** One store from its first command to its last: each test continues where the previous one ended. */
let commandLine: CommandLine;
let dataDir: string;
let service: Service;
let npm: StartedByNpm;
let killGroup = () => {};

beforeAll(async () => {
  commandLine = await openCommandLine();
  dataDir = commandLine.dataDir;
});
afterAll(() => {
  killGroup();
  return commandLine.close();
});

const noisefloor: CommandLine["run"] = (args, env) => commandLine.run(args, env);
const startService = () => commandLine.startService();

async function getJson(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

/** More than intervals of the log begin meanwhile: each logs its first. */
const LOOKUPS = 4;

type StartedByNpm = {
  readonly url: string;
  /** Its process group. */
  readonly group: number;
  readonly ended: Promise<unknown>;
  readonly logged: () => string;
};

async function startByNpm(): Promise<StartedByNpm> {
  const port = String(await getPort());
  const child = spawn("npm", ["start"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    // The environment may name servers for the tests: npm start shall run its own.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, HTTP_PORT: port, LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, as a shell in a terminal creates it.
    detached: true,
  });
  const group = child.pid ?? expect.fail("npm did not start");
  const ended = new Promise((settle) => child.once("close", settle));
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  // In a group of its own it would outlive a failed test.
  killGroup = () => void (hasEnded || process.kill(-group, "SIGKILL"));
  let logged = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (logged += text));
  await eventually(async () => expect(logged).toContain('"listening"'), 60_000);
  return { url: `http://localhost:${port}`, group, ended, logged: () => logged };
}

test("replay without a service runs the store for as long as it needs, and reports what it did", async () => {
  expect(await runInProcess(["migrate"], { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
  const file = join(dataDir, "marx.csv");
  const rows = [
    "datetime,host,src,proto,type,spt,dpt",
    "2013-03-03 21:53:59,groucho,1032051418,TCP,,6000,22",
    "2013-03-03 21:54:59,groucho,167772161,TCP,,6000,22",
  ];
  await writeFile(file, rows.join("\n"));
  const { code, stdout } = await noisefloor(["replay", "--format", "marx", "--shift-to", "now", file]).finished;
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^All times move by the same: the newest becomes \S+Z\.\nread {6}3\nstored {4}1\nrejected {2}1\n {2}source-not-routable {4}1\nignored {3}1\n {2}header {17}1\nseconds {3}\d/,
  );
});

test("a first start that fails creates no key; the next one writes it to a private file and not to its output", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void blocker.close());
  await once(blocker, "listening");
  const address = blocker.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const failed = await noisefloor(["start"], { HTTP_PORT: String(port) }).finished;
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining(`${port}`) });
  expect((await readdir(dataDir)).filter((name) => name.startsWith("first-key"))).toEqual([]);
  service = await startService();
  const [, file = ""] = /The first key is in (\S+), and nowhere else/.exec(service.output()) ?? [];
  const key = (await readFile(file, "utf8")).trim();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(key).toMatch(/^nf_/);
  expect(service.output() + service.errors()).not.toContain(key);
  expect((await fetch(`${service.url}/v3/tags`, { headers: { key } })).status).toBe(200);
  expect(await getJson(`${service.url}/v3/community/61.131.218.218`), "replayed before").toMatchObject({ noise: true });
});

test("start prints curl lines that work", async () => {
  const lines = service
    .output()
    .split("\n")
    .filter((line) => line.trim().startsWith("curl "));
  expect(lines).toHaveLength(3);
  const answers: unknown[] = [];
  for (const line of lines) {
    const shell = spawn("sh", ["-c", `${line.trim()} --silent`], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    shell.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await new Promise((settle) => shell.once("close", settle));
    answers.push(JSON.parse(text));
  }
  expect(answers).toMatchObject([
    { tags: expect.arrayContaining([expect.objectContaining({ slug: "ssh-scanner" })]) },
    { accepted: 1, rejected: 0 },
    { noise: true, ip: "192.175.48.6" },
  ]);
});

test("accepted observations survive a kill of the service and a start by npm", async () => {
  const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.9" };
  const answer = await fetch(`${service.url}/v1/observations`, { method: "POST", body: JSON.stringify(observation) });
  expect(answer.status).toBe(202);
  service.child.kill("SIGKILL");
  await service.finished;
  await eventually(async () => expect(await findRunning(dataDir)).toBeUndefined());
  npm = await startByNpm();
  for (let asked = 0; asked < LOOKUPS; asked++) {
    expect(await getJson(`${npm.url}/v3/community/45.0.0.9`)).toMatchObject({ noise: true });
  }
});

test("a Ctrl-C, which reaches npm start from the terminal and again from npm, ends all of it cleanly", async () => {
  process.kill(-npm.group, "SIGINT");
  await npm.ended;
  expect(npm.logged()).toContain('"stopped"');
  expect(npm.logged(), "no warning and no error").not.toMatch(/"level":[456]0/);
  expect(await findRunning(dataDir), "the embedded server has ended too").toBeUndefined();
  const counts = await readFile(join(dataDir, `lookups-${new URL(npm.url).port}.json`), "utf8");
  expect(JSON.parse(counts), "lookups without a key, for the next start").toMatchObject({
    storage: [{ value: LOOKUPS }],
  });
  const lines = npm.logged().match(/"operation":"getCommunityIP".*/g) ?? [];
  const counted = lines.flatMap((line) => /"lookups":(\d+),"msg":"further lookups answered"/.exec(line)?.[1] ?? []);
  expect(counted.length, "lookups that have no line of their own").toBeGreaterThan(0);
  expect(counted.map(Number).reduce((sum, lookups) => sum + lookups, lines.length - counted.length)).toBe(LOOKUPS);
});
