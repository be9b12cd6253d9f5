import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { observation } from "../support/builders/observation.ts";
import { installNpm, installPython } from "../support/programs.ts";
import { createWorld } from "../support/worlds/world.ts";
import { unpackFirewalls } from "./network-namespace.ts";

/** How long a decision of an hour lasts here, in milliseconds: the service's clock runs as much faster. */
const HOUR_MS = 20_000;

const rulesetSchema = z.object({ nftables: z.array(z.looseObject({ set: z.unknown().optional() })) });
const elementSchema = z.object({ elem: z.object({ val: z.string() }) });
const setSchema = z.object({ name: z.string(), elem: z.array(elementSchema).default([]) });

/** The addresses that sets of CrowdSec's firewall bouncer ban. */
function bansIn(ruleset: string): string[] {
  const { nftables } = rulesetSchema.parse(JSON.parse(ruleset));
  const sets = nftables.flatMap(({ set }) => (set === undefined ? [] : [setSchema.parse(set)]));
  const elements = sets.filter(({ name }) => name.startsWith("crowdsec-blacklists")).flatMap(({ elem }) => elem);
  return elements.map(({ elem }) => elem.val).sort();
}

/** The firewall bouncer in a network of its own, which reaches the service by a socket. @returns the file of its sets. */
async function startFirewallBouncer(folder: string, socket: string, token: string): Promise<string> {
  const { root, commandOf } = await unpackFirewalls();
  const inside = `const { createServer, connect } = require("node:net");
createServer((inner) => inner.pipe(connect("${socket}")).pipe(inner)).listen(8080, "127.0.0.1");`;
  const settings = `mode: nftables
update_frequency: 1s
daemonize: false
log_mode: stdout
log_level: info
api_url: http://127.0.0.1:8080/
api_key: ${token}
disable_ipv6: true
deny_action: DROP
supported_decisions_types: [ban]
blacklists_ipv4: crowdsec-blacklists
nftables:
  ipv4: { enabled: true, set-only: false, table: crowdsec, chain: crowdsec-chain }
  ipv6: { enabled: false }
nftables_hooks: [input]
prometheus: { enabled: false }
`;
  await writeFile(join(folder, "bouncer.yaml"), settings);
  await writeFile(join(folder, "bridge.cjs"), inside);
  const script = `cd ${folder}
${commandOf("usr/bin/ip").join(" ")} link set lo up
${process.execPath} bridge.cjs &
while ! [ -e ready ]; do ${process.execPath} -e 'require("net").connect(8080, "127.0.0.1").on("connect", () => { require("fs").writeFileSync("ready", ""); process.exit() }).on("error", () => {})'; done
${root}/usr/bin/crowdsec-firewall-bouncer -c bouncer.yaml &
while :; do ${commandOf("usr/sbin/nft").join(" ")} -j list ruleset > next.json && mv next.json ruleset.json; sleep 0.3; done`;
  const options = ["--net", "--map-root-user", "--pid", "--fork", "--kill-child"];
  await startSensor("unshare", [...options, "sh", "-c", script], { folder, ready: /nftables initiated/ });
  return join(folder, "ruleset.json");
}

const NODE_BOUNCER = `const { CrowdSecBouncer } = require("@crowdsec/nodejs-bouncer");
const { writeFileSync, renameSync } = require("node:fs");
const [url, bouncerApiToken, file, ...ips] = process.argv.slice(2);
const bouncer = new CrowdSecBouncer({ url, bouncerApiToken, streamMode: true });
setInterval(() => bouncer.refreshDecisions().catch(console.error), 1000);
setInterval(async () => {
  const results = await Promise.all(ips.map((ip) => bouncer.getIpRemediation(ip)));
  writeFileSync(file + ".next", ips.filter((_, index) => results[index].remediation === "ban").join(" "));
  renameSync(file + ".next", file);
}, 100);
console.log("started");`;

const PYTHON_BOUNCER = `import os, sys, time
from pycrowdsec.client import StreamClient
url, token, file, *ips = sys.argv[1:]
client = StreamClient(api_key=token, lapi_url=url + "/", interval=1)
client.run()
print("started", flush=True)
while True:
    with open(file + ".next", "w") as held:
        held.write(" ".join(ip for ip in ips if client.get_action_for(ip) == "ban"))
    os.rename(file + ".next", file)
    time.sleep(0.1)`;

test("bouncers of CrowdSec ban exactly the addresses of a feed, each for as long as it is listed, over several lives of its decision", {
  timeout: 900_000,
}, async () => {
  const start = Date.now();
  const world = await createWorld(() => start + ((Date.now() - start) * 3_600_000) / HOUR_MS);
  onTestFinished(() => world.close());
  const ips = ["45.0.0.1", "45.0.0.2", "45.0.0.3", "45.0.0.4"];
  await world.store(ips.map((ip) => observation(ip, start - 60_000)));
  const key = await world.addCaller("unlimited");
  const put = async (listed: readonly string[]) => {
    const payload = { query: listed.map((ip) => `ip:${ip}`).join(" OR "), ttl_hours: 1 };
    await world.app.inject({ method: "PUT", url: "/v3/feeds/edge", headers: { key }, payload });
  };
  const makeToken = async () => {
    const url = "/v3/feeds/edge/tokens";
    const made = await world.app.inject({ method: "POST", url, headers: { key }, payload: { label: "bouncer" } });
    return z.object({ token: z.string() }).parse(made.json()).token;
  };
  const answer: RequestListener = async ({ url = "", headers: { "accept-encoding": _, ...headers } }, response) => {
    const { statusCode, body } = await world.app.inject({ url, headers });
    response.writeHead(statusCode, { "content-type": "application/json" });
    response.end(body.replaceAll('"1h0m0s"', `"${HOUR_MS / 1_000}s"`));
  };

  const folder = await makeFolder({
    "ruleset.json": '{"nftables":[]}',
    "node.cjs": NODE_BOUNCER,
    python: "",
    node: "",
  });
  const socket = join(folder, "api.sock");
  const [inner, outer] = [createServer(answer).listen(socket), createServer(answer).listen(0, "127.0.0.1")];
  onTestFinished(() => {
    for (const server of [inner, outer]) server.close();
  });
  await once(outer, "listening");
  const { port } = z.object({ port: z.int() }).parse(outer.address());
  const url = `http://127.0.0.1:${port}`;
  await put(ips.slice(0, 2));

  const ruleset = await startFirewallBouncer(folder, socket, await makeToken());
  const modules = join(await installNpm("crowdsec-node-0.2.0", ["@crowdsec/nodejs-bouncer@0.2.0"]), "node_modules");
  const node = ["node.cjs", url, await makeToken(), join(folder, "node"), ...ips];
  await startSensor("env", [`NODE_PATH=${modules}`, process.execPath, ...node], { folder, ready: /started/ });
  const python = await installPython("pycrowdsec-0.0.5", ["pycrowdsec==0.0.5"]);
  const pycrowdsec = ["-c", PYTHON_BOUNCER, url, await makeToken(), join(folder, "python"), ...ips];
  await startSensor(python, pycrowdsec, { folder, ready: /started/ });

  const read = async (name: string) => (await readFile(join(folder, name), "utf8")).split(" ").filter(Boolean);
  const held = async () => ({
    firewall: bansIn(await readFile(ruleset, "utf8")),
    node: await read("node"),
    python: await read("python"),
  });
  const all = (listed: readonly string[]) => ({ firewall: listed, node: listed, python: listed });
  const wait = { timeout: 30_000, interval: 300 };
  await expect.poll(held, wait).toEqual(all(ips.slice(0, 2)));
  await put(ips.slice(1));
  await expect.poll(held, wait).toEqual(all(ips.slice(1)));
  let misses = 0;
  let lastListed = 0;
  for (const end = Date.now() + 4 * HOUR_MS; Date.now() < end; await sleep(300)) {
    const now = await held();
    // The firewall bouncer deletes an element just before it adds it anew. On a busy machine a listing is read twice.
    const { mtimeMs: listed } = await stat(ruleset);
    if (listed !== lastListed) misses = now.firewall.length < 3 ? misses + 1 : 0;
    lastListed = listed;
    expect(misses, JSON.stringify(now)).toBeLessThan(2);
    expect({ ...now, firewall: ips.slice(1) }).toEqual(all(ips.slice(1)));
  }
  await put(ips.slice(2));
  await expect.poll(held, wait).toEqual(all(ips.slice(2)));
});
