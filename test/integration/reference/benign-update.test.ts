import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { runNetworksUpdate } from "@noisefloor/cli/commands/networks.ts";
import { startBenignUpdate } from "@noisefloor/cli/process/benign-update.ts";
import { readNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import getPort from "get-port";
import { pack } from "tar-stream";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { runCommand } from "../../support/commands/run-command.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 86_400_000;
let world: World;
let answer: RequestListener;
let server: Server;
let url: string;
beforeEach(async () => {
  world = await createWorld(() => NOW);
  const port = await getPort();
  url = `http://127.0.0.1:${port}/main.tar.gz`;
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((settle) => server.listen(port, "127.0.0.1", settle));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((settle) => server.close(settle));
  await world.close();
});

/** An archive of the repository as its host makes it: the lists by their ids, and files that are no lists. */
async function archive(lists: Readonly<Record<string, readonly string[] | string>>): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: "misp-warninglists-main/README.md" }, "# Lists");
  for (const [id, list] of Object.entries(lists)) {
    const text = typeof list === "string" ? list : JSON.stringify({ name: id, type: "cidr", list });
    tar.entry({ name: `misp-warninglists-main/lists/${id}/list.json` }, text);
  }
  tar.finalize();
  return gzipSync(await buffer(tar));
}

const serve = (bytes: Buffer) => {
  answer = (_request, response) => response.end(bytes);
};
const update = (from = url, kind: "service" | "actor" = "service") =>
  runCommand(world, (command) => runNetworksUpdate(kind, from, command));
const stored = async (kind: "service" | "actor" = "service") =>
  Object.fromEntries((await readNetworkLists(world.client, kind)).map(({ listId, networks }) => [listId, networks]));

test("an update imports the lists of its kind that are known, and leaves all others as they are", async () => {
  await world.replaceNetworks("service", [networkList("own", ["7.0.0.0/24"]), networkList("fastly", ["7.1.0.0/24"])]);
  serve(
    await archive({
      cloudflare: ["5.0.1.0/24", "2001:db8::/32", "bad"],
      fastly: ["5.0.2.0/24", "5.0.3.0/24"],
      "shodan-scanning": ["5.0.4.1"],
      "vpn-ipv4": ["5.0.5.0/24"],
    }),
  );
  expect(await update()).toEqual({
    output: [
      "lists     2",
      "networks  3",
      "ipv6      1 (not used)",
      "rejected  1",
      "skipped   0",
      "ranges    3 without overlap, over all lists",
    ].join("\n"),
    failure: "",
  });
  expect(await stored()).toEqual({ own: 1, cloudflare: 1, fastly: 2 });
  expect((await world.get("/v3/community/5.0.1.1")).body).toMatchObject({ riot: true, name: "Cloudflare" });
  expect((await update(url, "actor")).failure).toBe("");
  expect(await stored("actor")).toEqual({ "shodan-scanning": 1 });
});

test("an archive may be a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-archive-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "main.tar.gz");
  await writeFile(file, await archive({ cloudflare: ["5.0.1.0/24"] }));
  expect((await update(file)).failure).toBe("");
  expect(await stored()).toEqual({ cloudflare: 1 });
  expect((await update(join(folder, "missing.tar.gz"))).failure).toMatch(/^nothing was changed: .*ENOENT/);
});

test("a download that fails or is broken changes nothing, and the command fails", async () => {
  await world.replaceNetworks("service", [networkList("cloudflare", ["7.0.0.0/24"])]);
  const whole = await archive({ cloudflare: ["5.0.1.0/24"], fastly: ["5.0.2.0/24"] });
  const broken: Record<string, RequestListener> = {
    "answered with 404": (_request, response) => response.writeHead(404).end(),
    "incorrect header check|unexpected": (_request, response) => response.end("<html>Sorry</html>"),
    "unexpected end|Unexpected": (_request, response) => response.end(whole.subarray(0, whole.length - 20)),
    "terminated|aborted|closed": (_request, response) => {
      response.writeHead(200, { "content-length": whole.length });
      response.write(whole.subarray(0, 60), () => response.destroy());
    },
  };
  for (const [message, respond] of Object.entries(broken)) {
    answer = respond;
    const { failure } = await update();
    expect(failure).toMatch(/^nothing was changed: /);
    expect(failure).toMatch(new RegExp(message));
  }
  serve(await archive({ cloudflare: ["5.0.1.0/24"], fastly: "{" }));
  expect((await update()).failure).toMatch(/^nothing was changed: the list fastly cannot be read: /);
  serve(await archive({ "vpn-ipv4": ["5.0.5.0/24"] }));
  expect((await update()).failure).toContain("none of the lists that Noisefloor knows");
  expect((await update(`http://127.0.0.1:${await getPort()}/`)).failure).toMatch(
    /^nothing was changed: .*ECONNREFUSED/,
  );
  expect(await stored()).toEqual({ cloudflare: 1 });
  expect((await world.get("/v3/community/7.0.0.1")).body).toMatchObject({ riot: true });
});

test("an archive may come on standard input, and the result be JSON", async () => {
  const list = ["5.0.1.0/24", "2001:db8::/32", "bad"];
  const bytes = await archive({ cloudflare: list, fastly: ["5.0.2.0/24", "5.0.3.0/24"] });
  const { output, failure } = await runCommand(world, (command) =>
    runNetworksUpdate("service", "-", { ...command, stdin: Readable.from([bytes]) }, { json: true }),
  );
  expect(failure).toBe("");
  expect(JSON.parse(output)).toEqual({
    lists: [
      expect.objectContaining({ id: "cloudflare", networks: 1, ipv6: 1 }),
      expect.objectContaining({ id: "fastly", networks: 2, ipv6: 0 }),
    ],
    rejected: [{ entry: "cloudflare: bad", reason: expect.any(String) }],
    ...{ skipped: [], ranges: 2 },
  });
  expect(await stored()).toEqual({ cloudflare: 1, fastly: 2 });
});

test("a list that lost most of its networks stays as it was, and the others are updated", async () => {
  await world.replaceNetworks("service", [networkList("cloudflare", ["7.0.0.0/24", "7.0.1.0/24", "7.0.2.0/24"])]);
  serve(await archive({ cloudflare: ["5.0.1.0/24"], fastly: ["5.0.2.0/24"] }));
  expect((await update()).output).toContain("skipped cloudflare: it holds 1 networks, where 3 networks are stored");
  expect(await stored()).toEqual({ cloudflare: 3, fastly: 1 });
});

test("unattended, lists are updated once a day, also over restarts; a failure is logged, counted and tried again", async () => {
  const metrics = createMetrics();
  const lines: string[] = [];
  let requests = 0;
  let now = NOW;
  const log = { info: () => {}, warn: (_fields: object, message: string) => void lines.push(message) };
  const start = () => {
    const started = startBenignUpdate({ client: world.client, from: url, now: () => now, metrics, log });
    onTestFinished(started.stop);
    return started;
  };
  const counted = async () =>
    [...(await metrics.text()).matchAll(/^noisefloor_benign_updates_total\{outcome="(\w+)"\} (\d+)$/gm)].map(
      ([, outcome, count]) => `${outcome} ${count}`,
    );
  const first = start();
  expect(await counted()).toEqual(["updated 0", "failed 0"]);
  answer = (_request, response) => response.writeHead(503).end();
  await first.look();
  expect(await counted()).toEqual(["updated 0", "failed 2"]);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toBe("updating the lists of benign networks failed; they stay as they are");
  const whole = await archive({ cloudflare: ["5.0.1.0/24"], "shodan-scanning": ["5.0.4.1"] });
  answer = (_request, response) => {
    requests++;
    response.end(whole);
  };
  await first.look();
  expect(await counted()).toEqual(["updated 2", "failed 2"]);
  now += DAY / 2;
  await first.look();
  await start().look();
  expect(requests).toBe(2);
  now += DAY / 2;
  await start().look();
  expect(requests).toBe(4);
  expect(await stored()).toEqual({ cloudflare: 1 });
  expect(await stored("actor")).toEqual({ "shodan-scanning": 1 });
});
