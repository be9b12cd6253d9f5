import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answers, type ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startServerProcess } from "@noisefloor/clickhouse/embedded/embedded-process.ts";
import getPort from "get-port";

const CONFIG = fileURLToPath(new URL("../../../infra/clickhouse/config", import.meta.url));

/** The image's own configuration, over which our files are merged, as far as it matters here. */
const IMAGE_USERS = `<clickhouse>
  <profiles><default/><readonly><readonly>1</readonly></readonly></profiles>
  <users>
    <default>
      <password></password>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
  </users>
  <quotas><default/></quotas>
</clickhouse>`;

const PASSWORDS = { noisefloor: "writes", noisefloor_reader: "reads", grafana: "looks" };

export type ComposeClickHouse = {
  connectionAs(user: keyof typeof PASSWORDS): ClickHouseConnection;
  stop(): Promise<void>;
};

/** Files of ours, by what they are called in the folder into which a container gets them. */
type ConfigFiles = { readonly [folder in "config.d" | "users.d"]: Readonly<Record<string, string>> };

/**
 * Writes into a folder what the image has as its configuration, with our files over it.
 * @returns the path of the configuration.
 */
export async function writeImageConfig(folder: string, files: ConfigFiles): Promise<string> {
  const config = join(folder, "config.xml");
  await writeFile(
    config,
    `<clickhouse><users_config>users.xml</users_config><logger><log>${join(folder, "log")}</log></logger></clickhouse>`,
  );
  await writeFile(join(folder, "users.xml"), IMAGE_USERS);
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(join(folder, name));
    for (const [file, text] of Object.entries(contents)) await writeFile(join(folder, name, file), text);
  }
  return config;
}

export const readConfig = (name: "server.xml" | "users.xml") => readFile(join(CONFIG, name), "utf8");

/** A real engine with the configuration of docker-compose.yml. */
export async function startComposeClickHouse(): Promise<ComposeClickHouse> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-compose-"));
  const config = await writeImageConfig(folder, {
    "config.d": { "noisefloor.xml": await readConfig("server.xml") },
    "users.d": { "noisefloor.xml": await readConfig("users.xml") },
  });
  const httpPort = await getPort({ host: "127.0.0.1" });
  const connectionAs = (username: keyof typeof PASSWORDS) => ({
    url: `http://127.0.0.1:${httpPort}`,
    username,
    password: PASSWORDS[username],
    database: "noisefloor",
  });
  const server = await startServerProcess({
    data: join(folder, "data"),
    config,
    nowhere: join(folder, "nowhere"),
    httpPort,
    environment: {
      NOISEFLOOR_PASSWORD: PASSWORDS.noisefloor,
      NOISEFLOOR_READER_PASSWORD: PASSWORDS.noisefloor_reader,
      GRAFANA_PASSWORD: PASSWORDS.grafana,
    },
    isReady: () => answers(connectionAs("noisefloor")),
    timeoutMs: 20_000,
  });
  return {
    connectionAs,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
