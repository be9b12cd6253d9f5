import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { atVolume } from "../support/volume.ts";
import { BINARY, type CommandLine, openCommandLine, type Service } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

/** A store with a running service, shared by the tests that do not stop it. */
let commandLine: CommandLine;
let dataDir: string;
let service: Service;
const DEMO_DAYS = atVolume(1, 30);
/** Not the default, which is the setting of the commands beside the service. */
const RETENTION_DAYS = "365";

beforeAll(async () => {
  commandLine = await openCommandLine();
  dataDir = commandLine.dataDir;
  service = await commandLine.startService(["--demo", String(DEMO_DAYS)], { RETENTION_DAYS });
});
afterAll(() => commandLine.close());

const noisefloor: CommandLine["run"] = (args, env) => commandLine.run(args, env);
/** As a process of its own would, but for its start: for all but one command of a kind. */
const here = (args: readonly string[], env: Record<string, string> = {}) =>
  runInProcess(args, { DATA_DIR: dataDir, ...env });

/** A data directory without a store. */
async function openEmpty() {
  const opened = await openCommandLine();
  onTestFinished(() => opened.close());
  return { dataDir: opened.dataDir, noisefloor: opened.run, startService: opened.startService };
}

async function getJson(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

test("a demo ends with a link, and its observations keep arriving", async () => {
  const said = `The demo is ready: ${service.url}/`;
  await eventually(async () => expect(service.output()).toContain(said), 120_000);
  const query = `last_seen:>=${new Date().toISOString()}`;
  const counting = `${service.url}/v3/gnql/count?${new URLSearchParams({ query })}`;
  // One in eleven seconds.
  await eventually(async () => expect(await getJson(counting)).not.toMatchObject({ count: 0 }), 100_000);
}, 240_000);

test("only start and migrate create a store: all other commands name the folder without one", async () => {
  const { dataDir, noisefloor } = await openEmpty();
  const elsewhere = join(dataDir, "elsewhere");
  const commands = [
    "keys list",
    "sensors create --yes",
    "dead-letters list",
    "retention",
    "simulate",
    "backup /tmp/no",
  ];
  const rejected = commands.map((line) => runInProcess(line.split(" "), { DATA_DIR: elsewhere }));
  rejected.push(noisefloor(["workspaces", "list"], { DATA_DIR: elsewhere }).finished);
  for (const { code, stdout, stderr } of await Promise.all(rejected)) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`noisefloor: there is no store in the data directory ${elsewhere}: "noisefloor start" or`);
  }
  expect(await readdir(dataDir)).toEqual([]);
});

test("a fresh install knows the well known benign services", async () => {
  expect(await getJson(`${service.url}/v3/community/8.8.8.8`)).toMatchObject({
    riot: true,
    classification: "benign",
    name: "Google Public DNS",
  });
});

test("commands beside a running service use its store, and the service shows the change within five seconds", async () => {
  const file = join(dataDir, "tags.yaml");
  await writeFile(
    file,
    "tags:\n  - {slug: brand-new, name: Brand New, intention: malicious}\n  - {slug: Bad Slug, name: x}\n",
  );
  const imported = await noisefloor(["tags", "import", file]).finished;
  expect(imported).toMatchObject({ code: 0, stderr: "" });
  expect(imported.stdout).toMatch(
    /rejected Bad Slug: slug: .*\nadded {5}1\nchanged {3}0\nreplaced {2}0\nunchanged 0\nrejected {2}1\n/,
  );
  const list = join(dataDir, "resolvers.json");
  await writeFile(list, JSON.stringify({ name: "Resolvers", type: "cidr", list: ["5.9.9.0/24"] }));
  expect(await here(["benign", "import", list])).toMatchObject({ code: 0 });
  await eventually(async () => {
    expect(await getJson(`${service.url}/v3/tags?slug=brand-new`)).toMatchObject({ tags: [{ name: "Brand New" }] });
    expect(await getJson(`${service.url}/v3/community/5.9.9.9`)).toMatchObject({ riot: true, name: "Resolvers" });
  }, 5_000);
});

test("a command that does not know the service's retention deletes nothing", async () => {
  expect(service.output()).toContain(`Retention       ${RETENTION_DAYS} days`);
  const old = {
    observed_at: new Date(Date.now() - 200 * 86_400_000).toISOString(),
    sensor_id: "s",
    source_ip: "45.0.0.8",
  };
  const { url } = service;
  expect((await fetch(`${url}/v1/observations`, { method: "POST", body: JSON.stringify(old) })).status).toBe(202);
  const file = join(dataDir, "tags.yaml");
  await writeFile(file, "tags: [{slug: one, name: One}]");
  expect(await here(["tags", "import", file])).toMatchObject({ code: 0, stderr: "" });
  const shorter = await here(["tags", "import", file], { RETENTION_DAYS: "100" });
  expect(shorter, "a command does not change the retention").toMatchObject({ code: 0, stderr: "" });
  expect(await getJson(`${url}/v3/community/45.0.0.8`)).toMatchObject({ noise: true });
});

test("a started service has the explorer, with all files that it loads", async () => {
  const page = await fetch(service.url, { headers: { accept: "text/html" } });
  const files = [...(await page.text()).matchAll(/(?:src|href)="(\/assets\/[^"]*)"/g)].flatMap(
    ([, file]) => file ?? [],
  );
  expect(files).toHaveLength(2);
  for (const file of files) expect([file, (await fetch(service.url + file)).status]).toEqual([file, 200]);
});

test("the demo is stored once, says that it is simulated, and fills the tags", async () => {
  await eventually(async () => expect(service.output()).toMatch(/stored {4}\d+/), 90_000);
  expect(service.output()).toContain("named demo-...");
  const { tags } = z
    .object({ tags: z.array(z.object({ id: z.string() })) })
    .parse(await getJson(`${service.url}/v3/tags?slug=ssh-scanner`));
  const path = `/v3/tags/${tags[0]?.id}/activity?days=30&granularity=168h`;
  const answer = z.object({ aggregations: z.object({ total_ips: z.int() }) });
  expect(answer.parse(await getJson(service.url + path)).aggregations.total_ips).toBeGreaterThan(100);
});

test.each([
  [
    "bad settings, all at once and without their values",
    ["start"],
    { HTTP_PORT: "eighty", RETENTION_DAYS: "0", CLICKHOUSE_URL: "secret", TLS_CERT_FILE: "/x" },
    /(?=[\s\S]*HTTP_PORT: takes a whole number)(?=[\s\S]*RETENTION_DAYS: takes)[\s\S]*TLS_KEY_FILE: is not set/,
  ],
  ["a missing file", ["replay", "--format", "marx", "/nowhere.csv"], {}, /noisefloor: cannot read the input: ENOENT/],
  ["an unknown format", ["replay", "--format", "pcap", "-"], {}, /there is no log format "pcap"; there are\n {2}auto/],
  [
    "an invalid time",
    ["replay", "--format", "marx", "--shift-to", "tomorrow", "-"],
    {},
    /--shift-to takes "now" or a time like/,
  ],
  [
    "an unknown dataset",
    ["sensors", "create", "--dataset", "mine"],
    {},
    /there is no dataset "mine"; there are global/,
  ],
  [
    "a personal key without a workspace",
    ["sensors", "create", "--dataset", "personal"],
    {},
    /name it with --workspace/,
  ],
  [
    "a workspace with a shared dataset",
    ["sensors", "create", "--workspace", "default"],
    {},
    /--workspace goes with --dataset personal alone/,
  ],
  ["a file that holds no tags", ["tags", "import", BINARY], {}, /noisefloor: .*noisefloor\.js: /],
])("%s: a sentence and exit code 1", async (_name, args, env, message) => {
  const { code, stderr } = await runInProcess(args, { DATA_DIR: dataDir, ...env });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain("    at ");
  expect(stderr).not.toContain("secret");
});

test("a command ends silently when the reader of its output stops reading", async () => {
  const { child, finished } = noisefloor(["schema"]);
  child.stdout?.destroy();
  expect(await finished).toMatchObject({ code: 141, stderr: "" });
});

test("a search asks the service beside it, warns of a tag that does not exist, and ends silently when its reader does", async () => {
  // Within the day that a caller without a key reaches: what began the demo leaves it while the tests run.
  const query = "port:22 last_seen:12h";
  expect(await here(["search", "--count", query])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^[1-9]\d*\n$/),
    stderr: "",
  });
  const unknown = await noisefloor(["search", "tags:no-such-tag"]).finished;
  expect(unknown).toMatchObject({ code: 0, stdout: "No address matches.\n" });
  expect(unknown.stderr).toContain("no tag has the name");
  const { child, finished } = noisefloor(["search", "--csv", "--limit", "5", query]);
  child.stdout?.destroy();
  expect(await finished).toMatchObject({ code: 141, stderr: "" });
});

test.each<[string[]]>([[["migrate"]], [["keys", "list"]]])(
  "one Ctrl-C ends %s, also while its store hangs",
  async (args) => {
    const sockets = new Set<Socket>();
    const hanging = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      hanging.close();
    });
    await once(hanging, "listening");
    const address = hanging.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { child, finished } = noisefloor(args, { CLICKHOUSE_URL: `http://127.0.0.1:${port}` });
    await eventually(async () => expect(sockets.size).toBeGreaterThan(0));
    child.kill("SIGINT");
    expect(await finished).toMatchObject({ code: 130, stdout: "", stderr: "" });
  },
);

test("help names every command", async () => {
  const { code, stdout } = await noisefloor(["--help"]).finished;
  expect(code).toBe(0);
  for (const command of [
    "start",
    "ingest",
    "query",
    "migrate",
    "replay",
    "enrich",
    "simulate",
    "tags",
    "fingerprints",
    "benign",
    "actors",
    "workspaces",
    "keys",
    "sensors",
    "dead-letters",
    "retention",
    "backup",
    "restore",
    "schema",
  ]) {
    expect(stdout).toContain(`  ${command}`);
  }
});

test("a rejected record is found, shown byte for byte, and stored by a retry beside the running service", async () => {
  const sent = `{ "observed_at": "${new Date().toISOString()}", "sensor_id":"s", "source_ip": "45.0.0.6", "tags": ["later"] }`;
  await fetch(`${service.url}/v1/observations`, { method: "POST", body: sent });
  const listed = await here(["dead-letters", "list"]);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toMatch(/^http {4}unknown-tag {2}open {3}1 /m);
  const [, id = ""] = /^([0-9a-f]{16}) .* tag "later" is not in the catalogue$/m.exec(listed.stdout) ?? [];
  expect((await noisefloor(["dead-letters", "show", id, "--raw"]).finished).stdout).toBe(sent);
  const file = join(dataDir, "tags.yaml");
  await writeFile(file, "tags: [{slug: later, name: Later}]");
  await here(["tags", "import", file]);
  expect((await here(["dead-letters", "retry", "--all"])).stdout).toMatch(/^stored {7}1$/m);
  await eventually(async () => {
    expect(await getJson(`${service.url}/v3/community/45.0.0.6`)).toMatchObject({ noise: true });
  }, 5_000);
  const wrong = await here(["dead-letters", "retry"]);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^noisefloor: select dead letters by ids/) });
});

test("a backup needs a folder, overwrites nothing and is no .tar; no restore runs beside a service", async () => {
  const [absent, taken] = [join(dataDir, "none", "first"), join(dataDir, "taken")];
  await mkdir(taken);
  const errorOf = async (...args: string[]) => {
    const { code, stderr } = await here(args);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await errorOf("backup", absent)).toContain(`no folder ${join(dataDir, "none")} for the backup: create it`);
  expect(await errorOf("backup", taken)).toContain("backups are never overwritten");
  expect(await errorOf("backup", `${taken}.tar`)).toContain("a .tar cannot be checked for gaps: name a folder, or a");
  expect(await errorOf("restore", taken, "--replace")).toContain(
    `${dataDir} is in use by pid ${service.child.pid} (a service). Stop it first, then restore`,
  );
});

test("a sensor's key is made, shown once, used and revoked from the command line", async () => {
  const post = async (key: string, members: object = {}) => {
    const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.7", ...members };
    const body = JSON.stringify(observation);
    return fetch(`${service.url}/v1/observations`, { method: "POST", body, headers: { key } });
  };
  const created = z.object({ id: z.string(), key: z.string() });
  const create = ["sensors", "create", "--dataset", "personal", "--workspace", "default", "--label", "tap", "--json"];
  expect(await here(create)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /every sender needs one, also for the global dataset\. Nothing was changed: pass --yes/,
    ),
  });
  expect((await post("")).status, "the intake is still open").toBe(202);
  const { id, key } = created.parse(JSON.parse((await noisefloor([...create, "--yes"]).finished).stdout));
  await eventually(async () => expect((await post(key)).status).toBe(202), 5_000);
  expect(await (await post(key, { dataset: "global" })).json()).toMatchObject({ reasons: { "not-permitted": 1 } });
  const second = await here(["sensors", "create"]);
  expect(second.stdout).toMatch(/^id {3}[0-9a-f]{12}\nkey {2}nfs_\S+\nKeep the key: .*\n$/);
  expect(await here(["sensors", "revoke", id])).toMatchObject({ code: 0, stderr: "" });
  await eventually(async () => expect((await post(key)).status).toBe(401), 5_000);
  const listed = await here(["sensors", "list"]);
  expect(listed.stdout).toMatch(new RegExp(`^${id} +personal +default +\\S+ +revoked +tap +(?:\\S+Z|never)$`, "m"));
  expect(listed.stdout).toMatch(/^[0-9a-f]{12} +global +\S+ +valid +never$/m);
  expect(listed.stdout).not.toContain(key);
  await eventually(async () => expect((await post("")).status).toBe(401), 5_000);
  expect(await here(["sensors", "open"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("without a key. Nothing was changed: pass --yes"),
  });
  expect(await here(["sensors", "open", "--yes"])).toMatchObject({ code: 0, stderr: "" });
  await eventually(async () => expect((await post("")).status).toBe(202), 5_000);
  expect((await post(key)).status, "a revoked key stays one").toBe(401);
  const nowhere = await here(["sensors", "create", "--dataset", "personal", "--workspace", "nobody"]);
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no workspace "nobody"') });
});
