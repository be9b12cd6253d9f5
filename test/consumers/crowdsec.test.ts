import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { observation } from "../support/builders/observation.ts";
import { createServedWorld } from "../support/worlds/served-world.ts";
import { unpackFirewalls } from "./network-namespace.ts";

const rulesetSchema = z.object({ nftables: z.array(z.looseObject({ set: z.unknown().optional() })) });
const elementSchema = z.object({ elem: z.object({ val: z.string(), expires: z.int() }) });
const setSchema = z.object({ name: z.string(), elem: z.array(elementSchema).default([]) });

/** The addresses that the bouncer's sets ban, and for how many seconds. */
async function bansIn(file: string): Promise<Map<string, number>> {
  const { nftables } = rulesetSchema.parse(JSON.parse(await readFile(file, "utf8")));
  const sets = nftables.flatMap(({ set }) => (set === undefined ? [] : [setSchema.parse(set)]));
  const elements = sets.filter(({ name }) => name.startsWith("crowdsec-blacklists")).flatMap(({ elem }) => elem);
  return new Map(elements.map(({ elem }) => [elem.val, elem.expires]));
}

test("the firewall bouncer of CrowdSec bans exactly the addresses of a feed, and prolongs them", {
  timeout: 600_000,
}, async () => {
  const { root, commandOf } = await unpackFirewalls();
  let now = Date.now();
  const world = await createServedWorld(() => now);
  onTestFinished(() => world.close());
  const ips = ["45.0.0.1", "45.0.0.2", "45.0.0.3", "45.0.0.4"];
  await world.store(ips.map((ip) => observation(ip, now - 60_000)));
  const key = await world.addCaller("unlimited");
  const put = (query: string) =>
    world.app.inject({ method: "PUT", url: "/v3/feeds/edge", headers: { key }, payload: { query } });
  await put("ip:45.0.0.1 OR ip:45.0.0.2");
  const made = await world.app.inject({
    method: "POST",
    url: "/v3/feeds/edge/tokens",
    headers: { key },
    payload: { label: "bouncer" },
  });
  const { token } = z.object({ token: z.string() }).parse(made.json());

  // The bouncer is in a network of its own: a socket in the file system joins a port of its loopback to our server.
  const folder = await makeFolder({ "ruleset.json": '{"nftables":[]}' });
  const socket = join(folder, "api.sock");
  const bridge = createServer((inner) => {
    const outer = connect(Number(new URL(world.url).port), "127.0.0.1");
    inner.pipe(outer).pipe(inner);
    for (const end of [inner, outer]) end.on("error", () => outer.destroy());
  }).listen(socket);
  onTestFinished(async () => void bridge.close());
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
  await startSensor("unshare", [...options, "sh", "-c", script], {
    folder,
    ready: /nftables initiated/,
  });
  const bans = () => bansIn(join(folder, "ruleset.json"));
  const wait = { timeout: 30_000, interval: 300 };

  await expect.poll(async () => [...(await bans()).keys()].sort(), wait).toEqual(["45.0.0.1", "45.0.0.2"]);
  now += 1_000;
  await put("ip:45.0.0.2 OR ip:45.0.0.3 OR ip:45.0.0.4");
  await expect.poll(async () => [...(await bans()).keys()].sort(), wait).toEqual(["45.0.0.2", "45.0.0.3", "45.0.0.4"]);
  const before = Math.min(...(await bans()).values());
  // Seven hours later by our clock, which is more than a quarter of a day: every ban begins anew.
  await expect.poll(async () => Math.max(...(await bans()).values()), wait).toBeLessThan(before);
  const aged = Math.max(...(await bans()).values());
  now += 7 * 3_600_000;
  await expect.poll(async () => Math.min(...(await bans()).values()), wait).toBeGreaterThan(aged);
  expect([...(await bans()).keys()].sort()).toEqual(["45.0.0.2", "45.0.0.3", "45.0.0.4"]);
});
