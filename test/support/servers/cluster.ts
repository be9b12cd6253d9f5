import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answers, type ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { type ServerProcess, startServerProcess } from "@noisefloor/clickhouse/embedded/embedded-process.ts";
import getPort from "get-port";
import { startZooKeeper, type ZooKeeper } from "./replicas/zookeeper.ts";
import type { RestartableStore } from "./restartable-store.ts";

const CLUSTER = "shards";
/** The same without the last shard. */
const SMALLER = "fewer_shards";
const USER = { username: "noisefloor", password: "writes" };
/** Has what docs/scaling.md gives the user of the queries. */
const READER = { username: "noisefloor_reader", password: "reads" };

/** Real servers on this machine that know each other as the shards of one cluster, each with some replicas. */
export type ClickHouseCluster = {
  /** The first server's. */
  readonly connection: ClickHouseConnection;
  /** The same as a cluster that lacks the last shard: of one that grows. */
  readonly smaller: ClickHouseConnection;
  /** That of the first for a user who only reads. */
  readonly reader: ClickHouseConnection;
  /** Of a cluster with replicas. */
  readonly zookeeper: ZooKeeper | undefined;
  /** SIGKILL to the server of a shard, or to one of its replicas; resolves when it is gone. */
  kill(shard: number, replica?: number): Promise<void>;
  /** Starts it again, with its data or without. */
  start(shard: number, replica?: number, options?: { readonly isEmpty: boolean }): Promise<void>;
  stop(): Promise<void>;
};

/**
 * A cluster of which a test can kill a server, with the others going on: the last shard's, or of replicas each in turn.
 */
export async function startRestartableCluster(shards: number, replicas = 1): Promise<RestartableStore> {
  const cluster = await startCluster(shards, { replicas, database: "noisefloor" });
  const inTurn = Array.from({ length: replicas }, (_, replica) =>
    Array.from({ length: shards }, (_, shard) => [shard, replica] as const),
  ).flat();
  const killable = replicas > 1 ? inTurn : inTurn.slice(-1);
  let kills = 0;
  let killed: readonly [number, number] | undefined;
  return {
    connection: cluster.connection,
    hasReplicas: replicas > 1,
    async kill() {
      killed = killable[kills++ % killable.length];
      if (killed !== undefined) await cluster.kill(...killed);
    },
    async start() {
      if (killed !== undefined) await cluster.start(...killed);
      killed = undefined;
    },
    close: cluster.stop,
  };
}

/**
 * Servers of a cluster have the same ports, so each has a loopback address of its own. Not 127.0.0.1: every server
 * takes that for itself.
 */
export const hostOfServer = (index: number) => `127.0.0.${index + 2}`;

type ClusterOptions = {
  /** Servers of each shard. */
  readonly replicas?: number;
  /** Of the connections; it need not exist. */
  readonly database?: string;
};

export async function startCluster(shards: number, options: ClusterOptions = {}): Promise<ClickHouseCluster> {
  const { replicas = 1, database = "default" } = options;
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-cluster-"));
  const zookeeper = replicas > 1 ? await startZooKeeper() : undefined;
  // Free at every address of this machine.
  const ports = { httpPort: await getPort(), tcpPort: await getPort() };
  const indexOf = (shard: number, replica: number) => shard * replicas + replica;
  const hosts = Array.from({ length: shards }, (_, shard) =>
    Array.from({ length: replicas }, (_, replica) => hostOfServer(indexOf(shard, replica))),
  );
  const connectionTo = (host: string) => ({ url: `http://${host}:${ports.httpPort}`, ...USER, database });
  const start = async (host: string): Promise<ServerProcess> => {
    const own = join(folder, host);
    await mkdir(own, { recursive: true });
    const config = join(own, "config.xml");
    await writeFile(config, configXml({ folder: own, config, hosts, host, ...ports, zookeeper: zookeeper?.port }));
    return startServerProcess({
      data: join(own, "data"),
      config,
      nowhere: join(own, "nowhere"),
      host,
      ...ports,
      ...(zookeeper && { environment: exchangingParts(host, ports.httpPort) }),
      isReady: () => answers(connectionTo(host)),
      timeoutMs: 30_000,
    });
  };
  const processes = new Map<string, ServerProcess>();
  const startAll = async () =>
    Promise.all(hosts.flat().map(async (host) => void processes.set(host, await start(host))));
  const stop = async () => {
    await Promise.all([...processes.values()].map((server) => server.stop()));
    await zookeeper?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  await startAll().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const hostAt = (shard: number, replica: number) => {
    const host = hosts[shard]?.[replica];
    if (host === undefined) throw new RangeError(`there is no replica ${replica} of shard ${shard}`);
    return host;
  };
  const [first, ...others] = (hosts[0] ?? []).map(connectionTo);
  if (first === undefined) throw new RangeError("a cluster has a server");
  const otherUrls = others.map(({ url }) => url);
  return {
    connection: { ...first, otherUrls, cluster: CLUSTER },
    smaller: { ...first, cluster: SMALLER },
    reader: { ...first, ...READER, cluster: CLUSTER },
    zookeeper,
    async kill(shard, replica = 0) {
      const server = processes.get(hostAt(shard, replica));
      if (server === undefined) throw new RangeError("the server does not run");
      process.kill(server.pid, "SIGKILL");
      await server.ended;
    },
    async start(shard, replica = 0, { isEmpty } = { isEmpty: false }) {
      const host = hostAt(shard, replica);
      if (isEmpty) await rm(join(folder, host), { recursive: true, force: true });
      processes.set(host, await start(host));
    },
    stop,
  };
}

const INTERSERVER = fileURLToPath(new URL("replicas/interserver.mjs", import.meta.url));

/** The environment of a server that exchanges parts with others over its HTTP port. */
export function exchangingParts(host: string, httpPort: number): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--import=${INTERSERVER}`,
    INTERSERVER_HOST: host,
    INTERSERVER_PORT: String(httpPort),
  };
}

type ConfigOptions = {
  readonly folder: string;
  readonly config: string;
  readonly hosts: readonly (readonly string[])[];
  readonly host: string;
  readonly tcpPort: number;
  /** The port of ZooKeeper, in a cluster with replicas. */
  readonly zookeeper: number | undefined;
};

function configXml(options: ConfigOptions): string {
  const { username, password } = USER;
  const secret = "<secret>shards</secret>";
  const shards = options.hosts.map((replicas) => {
    const servers = replicas.map((host) => `<replica><host>${host}</host><port>${options.tcpPort}</port></replica>`);
    return `<shard><internal_replication>true</internal_replication>${servers.join("")}</shard>`;
  });
  const sha256 = createHash("sha256").update(password).digest("hex");
  return `<clickhouse>
  <users_config>${options.config}</users_config>
  <logger><log>${join(options.folder, "log")}</log></logger>
  <backups><allowed_path>/</allowed_path></backups>
  ${options.zookeeper === undefined ? "" : replicationXml(options.host, options.zookeeper)}
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
        <query>GRANT SELECT ON system.replicas</query>
        <query>GRANT REMOTE ON *.*</query>
        <query>GRANT CREATE TEMPORARY TABLE ON *.*</query>
      </grants>
    </${READER.username}>
  </users>
</clickhouse>
`;
}

/**
 * Requests between servers, which alone have this user agent, go to the handler that interserver.mjs puts in the place
 * of "webterminal". Embedded servers have the same UUID: at the same path each would end the other's session.
 */
export function replicationXml(host: string, zookeeper: number): string {
  return `<http_handlers>
    <rule>
      <headers><User-Agent>regex:ClickHouse/.*</User-Agent></headers>
      <handler><type>webterminal</type></handler>
    </rule>
    <defaults/>
  </http_handlers>
  <zookeeper>
    <node><host>127.0.0.1</host><port>${zookeeper}</port></node>
    <session_timeout_ms>10000</session_timeout_ms>
    <sessions_path>/sessions/${host}</sessions_path>
  </zookeeper>`;
}
