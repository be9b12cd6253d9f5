import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answers, type ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { type ServerProcess, startServerProcess } from "@noisefloor/clickhouse/server/embedded-process.ts";
import getPort from "get-port";
import type { RestartableStore } from "./restartable-store.ts";

const CLUSTER = "shards";
/** The same without the last shard. */
const SMALLER = "fewer_shards";
const USER = { username: "noisefloor", password: "writes" };
/** Has what docs/scaling.md gives the user of the queries. */
const READER = { username: "noisefloor_reader", password: "reads" };

/** Real servers on this machine that know each other as the shards of one cluster. */
export type ClickHouseCluster = {
  /** The first server's. */
  readonly connection: ClickHouseConnection;
  /** The same as a cluster that lacks the last shard: of one that grows. */
  readonly smaller: ClickHouseConnection;
  /** That of the first for a user who only reads. */
  readonly reader: ClickHouseConnection;
  /** SIGKILL to a shard's server, by its index; resolves when it is gone. */
  kill(index: number): Promise<void>;
  /** Starts it again, with its data. */
  start(index: number): Promise<void>;
  stop(): Promise<void>;
};

/** A cluster of which a test can kill the last shard, with the others going on. */
export async function startRestartableCluster(shards: number): Promise<RestartableStore> {
  const cluster = await startCluster(shards, "noisefloor");
  const last = shards - 1;
  let isRunning = true;
  return {
    connection: cluster.connection,
    async kill() {
      await cluster.kill(last);
      isRunning = false;
    },
    async start() {
      if (!isRunning) await cluster.start(last);
      isRunning = true;
    },
    close: cluster.stop,
  };
}

/**
 * Servers of a cluster have the same ports, so each has a loopback address of its own. Not 127.0.0.1: every server
 * takes that for itself.
 */
export const hostOfShard = (index: number) => `127.0.0.${index + 2}`;

/** @param database of the connections; it need not exist. */
export async function startCluster(shards: number, database = "default"): Promise<ClickHouseCluster> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-cluster-"));
  // Free at every address of this machine.
  const ports = { httpPort: await getPort(), tcpPort: await getPort() };
  const hosts = Array.from({ length: shards }, (_, index) => hostOfShard(index));
  const servers = hosts.map((host) => ({ url: `http://${host}:${ports.httpPort}`, ...USER, database }));
  const start = async (index: number): Promise<ServerProcess> => {
    const own = join(folder, String(index));
    const server = servers[index];
    if (server === undefined) throw new RangeError(`there is no shard ${index}`);
    await mkdir(own, { recursive: true });
    const config = join(own, "config.xml");
    await writeFile(config, configXml({ folder: own, config, hosts, tcpPort: ports.tcpPort }));
    return startServerProcess({
      data: join(own, "data"),
      config,
      nowhere: join(own, "nowhere"),
      host: hostOfShard(index),
      ...ports,
      isReady: () => answers(server),
      timeoutMs: 30_000,
    });
  };
  const processes = await Promise.all(hosts.map((_, index) => start(index)));
  const [first] = servers;
  if (first === undefined) throw new RangeError("a cluster has a server");
  return {
    connection: { ...first, cluster: CLUSTER },
    smaller: { ...first, cluster: SMALLER },
    reader: { ...first, ...READER, cluster: CLUSTER },
    async kill(index) {
      const server = processes[index];
      if (server === undefined) throw new RangeError(`there is no shard ${index}`);
      process.kill(server.pid, "SIGKILL");
      await server.ended;
    },
    async start(index) {
      processes[index] = await start(index);
    },
    async stop() {
      await Promise.all(processes.map((server) => server.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configXml(options: { folder: string; config: string; hosts: readonly string[]; tcpPort: number }): string {
  const { username, password } = USER;
  const secret = "<secret>shards</secret>";
  const shards = options.hosts.map(
    (host) => `<shard><internal_replication>true</internal_replication><replica>
      <host>${host}</host><port>${options.tcpPort}</port>
    </replica></shard>`,
  );
  const sha256 = createHash("sha256").update(password).digest("hex");
  return `<clickhouse>
  <users_config>${options.config}</users_config>
  <logger><log>${join(options.folder, "log")}</log></logger>
  <backups><allowed_path>/</allowed_path></backups>
  <remote_servers>
    <${CLUSTER}>${secret}${shards.join("")}</${CLUSTER}>
    <${SMALLER}>${secret}${shards.slice(0, Math.max(1, shards.length - 1)).join("")}</${SMALLER}>
  </remote_servers>
  <profiles><default/><reading><readonly>2</readonly></reading></profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password><networks><ip>127.0.0.0/8</ip></networks><profile>default</profile><quota>default</quota>
    </default>
    <${username}>
      <password_sha256_hex>${sha256}</password_sha256_hex>
      <networks><ip>127.0.0.0/8</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </${username}>
    <${READER.username}>
      <password>${READER.password}</password>
      <networks><ip>127.0.0.0/8</ip></networks>
      <profile>reading</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT SELECT ON test_*.*</query>
        <query>GRANT SELECT ON system.clusters</query>
        <query>GRANT REMOTE ON *.*</query>
        <query>GRANT CREATE TEMPORARY TABLE ON *.*</query>
      </grants>
    </${READER.username}>
  </users>
</clickhouse>
`;
}
