import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answers, type ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startServerProcess } from "@noisefloor/clickhouse/embedded/embedded-process.ts";
import getPort from "get-port";
import { exchangingParts, hostOfServer, replicationXml } from "./cluster.ts";
import { readConfig, writeImageConfig } from "./compose-clickhouse.ts";
import { startZooKeeper } from "./replicas/zookeeper.ts";

const CLUSTER_CONFIG = fileURLToPath(new URL("../../../infra/cluster/clickhouse", import.meta.url));
const PASSWORDS = { noisefloor: "writes", noisefloor_reader: "reads", grafana: "looks" };
const HOSTS = {
  "clickhouse-1-1": hostOfServer(0),
  "clickhouse-1-2": hostOfServer(1),
  "clickhouse-2-1": hostOfServer(2),
  "clickhouse-2-2": hostOfServer(3),
};

export type InfraCluster = {
  connectionAs(user: keyof typeof PASSWORDS): ClickHouseConnection;
  stop(): Promise<void>;
};

/**
 * Real engines with the configuration of infra/cluster/docker-compose.yml; hosts, ports and Keeper alone are of this
 * machine.
 */
export async function startInfraCluster(): Promise<InfraCluster> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-infra-cluster-"));
  const ports = { httpPort: await getPort(), tcpPort: await getPort() };
  const zookeeper = await startZooKeeper();
  const shards = Object.entries(HOSTS)
    .reduce(
      (xml, [name, address]) => xml.replace(`<host>${name}</host>`, `<host>${address}</host>`),
      (await readFile(join(CLUSTER_CONFIG, "cluster.xml"), "utf8")).replaceAll(
        "<port>9000</port>",
        `<port>${ports.tcpPort}</port>`,
      ),
    )
    .replace(/<zookeeper>.*<\/zookeeper>/s, "");
  // As the image has it: without a grant, users see no table of the server about itself.
  const image = `<clickhouse><access_control_improvements>
    <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
  </access_control_improvements></clickhouse>`;
  const [server, users] = [await readConfig("server.xml"), await readConfig("users.xml")];
  const clusterUsers = await readFile(join(CLUSTER_CONFIG, "users.xml"), "utf8");
  const filesOf = (host: string) => ({
    "config.d": {
      "00-image.xml": image,
      "10-noisefloor.xml": server,
      "20-cluster.xml": shards,
      "30-keeper.xml": `<clickhouse>${replicationXml(host, zookeeper.port)}</clickhouse>`,
    },
    "users.d": {
      "10-noisefloor.xml": users,
      "20-cluster.xml": clusterUsers,
    },
  });
  const connectionAs = (username: keyof typeof PASSWORDS, host = HOSTS["clickhouse-1-1"]) => ({
    url: `http://${host}:${ports.httpPort}`,
    username,
    password: PASSWORDS[username],
    database: "noisefloor",
    cluster: "noise",
  });
  const servers = await Promise.all(
    Object.entries(HOSTS).map(async ([name, host]) => {
      const own = join(folder, name);
      await mkdir(own);
      return startServerProcess({
        data: join(own, "data"),
        config: await writeImageConfig(own, filesOf(host)),
        nowhere: join(own, "nowhere"),
        host,
        ...ports,
        environment: {
          ...exchangingParts(host, ports.httpPort),
          NOISEFLOOR_PASSWORD: PASSWORDS.noisefloor,
          NOISEFLOOR_READER_PASSWORD: PASSWORDS.noisefloor_reader,
          CLUSTER_SECRET: "shards",
          GRAFANA_PASSWORD: PASSWORDS.grafana,
        },
        isReady: () => answers(connectionAs("noisefloor", host)),
        timeoutMs: 30_000,
      });
    }),
  );
  return {
    connectionAs,
    async stop() {
      await Promise.all(servers.map((one) => one.stop()));
      await zookeeper.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
