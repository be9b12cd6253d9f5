import { Resolver } from "node:dns/promises";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import { expect, test } from "vitest";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { makeList, writeForm } from "../support/builders/feed.ts";
import { unpackDebian } from "../support/programs.ts";

const list = makeList(["1.2.3.4", "203.0.113.7"]);
const installed = () => unpackDebian("dns-trixie", "trixie", ["rbldnsd", "unbound"]);

/** rbldnsd does not run as root, and reads its zones as another user. */
async function startRbldnsd(folder: string, port: number, zones: readonly string[]): Promise<void> {
  const { commandOf } = await installed();
  await chmod(folder, 0o755);
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const [command, ...args] = [...commandOf("usr/sbin/rbldnsd"), "-n", ...user, "-w", folder];
  await startSensor(command, [...args, "-b", `127.0.0.1/${port}`, ...zones], { folder, ready: / started / });
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

test("with its policy zone unbound answers that names of listed addresses do not exist", {
  timeout: 600_000,
}, async () => {
  const { commandOf } = await installed();
  const [namesPort, port] = [await getPort({ host: "127.0.0.1" }), await getPort({ host: "127.0.0.1" })];
  const names =
    "$SOA 300 localhost. root.localhost. 1 600 300 86400 300\n$NS 300 localhost.\nbad A 1.2.3.4\nworse A 203.0.113.7\ngood A 5.6.7.8\n";
  const folder = await makeFolder({ names, rpz: (await writeForm("rpz", list)).toString() });
  await startRbldnsd(folder, namesPort, ["names.test:generic:names"]);
  const settings = `server:
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
  control-enable: no
rpz:
  name: rpz.noisefloor
  zonefile: rpz
stub-zone:
  name: names.test
  stub-addr: 127.0.0.1@${namesPort}
`;
  await writeFile(join(folder, "unbound.conf"), settings);
  const [command, ...args] = [...commandOf("usr/sbin/unbound"), "-d", "-c", join(folder, "unbound.conf")];
  await startSensor(command, args, { folder, ready: /start of service/ });
  const resolver = resolverOf(port);
  expect(await resolver.resolve4("good.names.test")).toEqual(["5.6.7.8"]);
  await expect(resolver.resolve4("bad.names.test")).rejects.toThrow("ENOTFOUND");
  await expect(resolver.resolve4("worse.names.test")).rejects.toThrow("ENOTFOUND");
});
