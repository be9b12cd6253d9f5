import { Resolver } from "node:dns/promises";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import { expect, test } from "vitest";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { FEED, makeList, writeForm } from "../support/builders/feed.ts";
import { eventually } from "../support/eventually.ts";
import { unpackDebian } from "../support/programs.ts";
import { type FeedAnswer, linesFor, runLines, startFeedServer } from "../support/recipe-runs.ts";

const list = makeList(["1.2.3.4", "203.0.113.7"]);
const installed = () =>
  unpackDebian("name-servers-2026.11", "trixie", ["rbldnsd", "unbound", "bind9", "bind9-utils", "pdns-recursor"]);

/** rbldnsd does not run as root, and reads its zones as another user. */
async function startRbldnsd(folder: string, port: number, zones: readonly string[], log?: string): Promise<void> {
  const { commandOf } = await installed();
  await chmod(folder, 0o755);
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const [command, ...args] = [...commandOf("usr/sbin/rbldnsd"), "-n", ...user, "-w", folder];
  await startSensor(
    command,
    [...args, "-b", `127.0.0.1/${port}`, ...(log === undefined ? [] : ["-l", `+${log}`]), ...zones],
    { folder, ready: / started / },
  );
}

function resolverOf(port: number): Resolver {
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${port}`]);
  return resolver;
}

test("rbldnsd answers for each listed address and for the test address, and for no other", {
  timeout: 600_000,
}, async () => {
  const folder = await makeFolder({ recent: (await writeForm("dnsbl", list)).toString() });
  const port = await getPort({ host: "127.0.0.1" });
  await startRbldnsd(folder, port, ["bl.test:ip4set:recent"]);
  const resolver = resolverOf(port);
  for (const [reverse, ip] of [
    ["4.3.2.1", "1.2.3.4"],
    ["7.113.0.203", "203.0.113.7"],
    ["2.0.0.127", "127.0.0.2"],
  ]) {
    expect(await resolver.resolve4(`${reverse}.bl.test`)).toEqual(["127.0.0.2"]);
    expect(await resolver.resolveTxt(`${reverse}.bl.test`)).toEqual([[`${ip} is in the feed recent`]]);
  }
  for (const reverse of ["5.3.2.1", "4.3.2.2", "1.0.0.127"]) {
    await expect(resolver.resolve4(`${reverse}.bl.test`)).rejects.toThrow("ENOTFOUND");
  }
});

test("a resolver that asks rbldnsd keeps that an address is not listed", { timeout: 600_000 }, async () => {
  const { commandOf } = await installed();
  const [namesPort, port] = [await getPort({ host: "127.0.0.1" }), await getPort({ host: "127.0.0.1" })];
  const folder = await makeFolder({ recent: (await writeForm("dnsbl", list)).toString(), log: "" });
  await chmod(join(folder, "log"), 0o666);
  await startRbldnsd(folder, namesPort, ["bl.test:ip4set:recent"], join(folder, "log"));
  const unbound = NAME_SERVERS.unbound;
  const settings = unbound?.configuration(folder, port, namesPort, 0).replace("names.test", "bl.test") ?? "";
  await writeFile(join(folder, "noisefloor-edge.rpz"), await writeForm("rpz", makeList([])));
  await writeFile(join(folder, "unbound.conf"), settings);
  const [command, ...args] = commandOf("usr/sbin/unbound");
  await startSensor(command, [...args, "-d", "-c", join(folder, "unbound.conf")], {
    folder,
    ready: /start of service/,
  });
  const resolver = resolverOf(port);
  for (let times = 0; times < 5; times++) {
    await expect(resolver.resolve4("5.3.2.1.bl.test")).rejects.toThrow("ENOTFOUND");
    expect(await resolver.resolve4("4.3.2.1.bl.test")).toEqual(["127.0.0.2"]);
  }
  const asked = (await readFile(join(folder, "log"), "utf8"))
    .split("\n")
    .filter((line) => / 5\.3\.2\.1\.bl\.test A /.test(line));
  expect(asked).toHaveLength(1);
});

/** A server over a folder: its configuration with the lines of the recipe, and what its programs are called with. */
type NameServer = {
  readonly file: string;
  readonly configuration: (folder: string, port: number, namesPort: number, controlPort: number) => string;
  readonly program: string;
  readonly args: (folder: string) => readonly string[];
  readonly ready: RegExp;
  /** What the lines call, with its options. */
  readonly control: (folder: string) => Readonly<Record<string, readonly [program: string, ...args: string[]]>>;
};

const NAME_SERVERS: Readonly<Record<string, NameServer>> = {
  BIND: {
    file: "named.conf",
    configuration: (folder, port, namesPort, controlPort) => `options {
  directory "${folder}"; pid-file none; session-keyfile none; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
  recursion yes; dnssec-validation no;
  response-policy { zone "edge.noisefloor"; } break-dnssec yes min-update-interval 0;
};
zone "edge.noisefloor" { type primary; file "${folder}/noisefloor-edge.rpz"; allow-query { none; }; };
zone "names.test" { type forward; forward only; forwarders { 127.0.0.1 port ${namesPort}; }; };
include "${folder}/rndc.key";
controls { inet 127.0.0.1 port ${controlPort} allow { 127.0.0.1; } keys { "rndc-key"; }; };
`,
    program: "usr/sbin/named",
    args: (folder) => ["-g", "-c", join(folder, "named.conf")],
    ready: / running$/m,
    control: (folder) => ({ rndc: ["usr/sbin/rndc", "-k", join(folder, "rndc.key"), "-p", "CONTROL"] }),
  },
  unbound: {
    file: "unbound.conf",
    configuration: (folder, port, namesPort) => `server:
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  interface: 127.0.0.1@${port}
  do-not-query-localhost: no
  module-config: "respip iterator"
  local-zone: "test." nodefault
remote-control:
  control-enable: yes
  control-interface: ${folder}/control
rpz:
  name: edge.noisefloor
  zonefile: ${folder}/noisefloor-edge.rpz
stub-zone:
  name: names.test
  stub-addr: 127.0.0.1@${namesPort}
`,
    program: "usr/sbin/unbound",
    args: (folder) => ["-d", "-c", join(folder, "unbound.conf")],
    ready: /start of service/,
    control: (folder) => ({ "unbound-control": ["usr/sbin/unbound-control", "-c", join(folder, "unbound.conf")] }),
  },
  "PowerDNS Recursor": {
    file: "recursor.yml",
    configuration: (folder, port, namesPort) => `incoming: { listen: ["127.0.0.1:${port}"] }
outgoing: { dont_query: [] }
dnssec: { validation: "off" }
recursor:
  socket_dir: ${folder}
  hint_file: "no"
  security_poll_suffix: ""
  forward_zones: [{ zone: names.test, forwarders: ["127.0.0.1:${namesPort}"] }]
  rpzs: [{ name: ${folder}/noisefloor-edge.rpz, policyName: edge }]
`,
    program: "usr/sbin/pdns_recursor",
    args: (folder) => ["--daemon=no", `--config-dir=${folder}`],
    ready: /Done loading RPZ/,
    control: (folder) => ({ rec_control: ["usr/bin/rec_control", `--config-dir=${folder}`] }),
  },
};

/** Names in `names.test`, with their addresses. */
const NAMES = { bad: "1.2.3.4", worse: "203.0.113.7", good: "5.6.7.8", called: "5.6.7.9", "below.called": "5.6.7.10" };
const CALLED = "called.names.test";

test.each(Object.keys(NAME_SERVERS))(
  "%s answers that names of exactly the listed addresses, and listed names, do not exist, whatever a download was",
  {
    timeout: 600_000,
  },
  async (consumer) => {
    const server = NAME_SERVERS[consumer];
    if (server === undefined) throw new Error("no such server");
    const { commandOf } = await installed();
    const ports = [];
    for (let index = 0; index < 3; index++) ports.push(await getPort({ host: "127.0.0.1" }));
    const [port = 0, namesPort = 0, controlPort = 0] = ports;
    const records = Object.entries(NAMES).map(([name, ip]) => `${name} A ${ip}\n`);
    const names = `$TTL 1\n$SOA 1 localhost. root.localhost. 1 600 300 86400 1\n$NS 1 localhost.\n${records.join("")}`;
    const key = 'key "rndc-key" { algorithm hmac-sha256; secret "c2VjcmV0c2VjcmV0c2VjcmV0"; };\n';
    const folder = await makeFolder({ names, "rndc.key": key });
    await startRbldnsd(folder, namesPort, ["names.test:generic:names"]);
    const feed = await startFeedServer();
    const lines = linesFor(consumer, feed.url, folder);
    const programs = Object.fromEntries(
      Object.entries(server.control(folder)).map(([name, [program, ...args]]) => [
        name.replace("-", "_"),
        `${[...commandOf(program), ...args].join(" ").replace("CONTROL", String(controlPort))} "$@"`,
      ]),
    );
    const runOnce = () => runLines(lines.replaceAll("unbound-control auth", "unbound_control auth"), programs);

    let serial = 0;
    /** Each list has a greater serial, as the service's have. */
    const listOf = async (...ips: readonly string[]) => {
      const made = makeList(ips, {}, { ...FEED, listedAt: new Date(FEED.listedAt.getTime() + 1_000 * serial++) });
      return (await writeForm("rpz", made)).toString();
    };
    feed.give({ kind: "list", body: await listOf(NAMES.bad, NAMES.worse) });
    // Where no server runs yet its reload fails; the list is there all the same.
    await runOnce();
    await writeFile(join(folder, server.file), server.configuration(folder, port, namesPort, controlPort));
    const [command, ...args] = commandOf(server.program);
    await startSensor(command, [...args, ...server.args(folder)], { folder, ready: server.ready });
    const resolver = resolverOf(port);
    const first = await listOf(NAMES.bad, NAMES.worse);
    const runs: readonly (readonly [FeedAnswer, boolean, readonly string[]])[] = [
      [{ kind: "list", body: first }, true, ["bad", "worse"]],
      [{ kind: "error" }, false, ["bad", "worse"]],
      [{ kind: "page" }, false, ["bad", "worse"]],
      [{ kind: "nothing" }, false, ["bad", "worse"]],
      [{ kind: "cut", body: await listOf(NAMES.good) }, false, ["bad", "worse"]],
      [{ kind: "list", body: await listOf(NAMES.bad) }, true, ["bad"]],
      [{ kind: "list", body: await listOf(NAMES.bad, CALLED) }, true, ["bad", "called", "below.called"]],
      [{ kind: "list", body: await listOf(CALLED) }, true, ["called", "below.called"]],
      [{ kind: "list", body: await listOf() }, true, []],
      [{ kind: "list", body: await listOf(NAMES.good) }, true, ["good"]],
    ];
    for (const [index, [answer, succeeds, missing]] of runs.entries()) {
      feed.give(answer);
      expect([index, await runOnce()]).toEqual([index, succeeds]);
      await eventually(async () => {
        for (const [name, ip] of Object.entries(NAMES)) {
          const found = await resolver.resolve4(`${name}.names.test`).catch(({ code }) => code);
          expect([index, name, found]).toEqual([index, name, missing.includes(name) ? "ENOTFOUND" : [ip]]);
        }
      });
    }
  },
);
