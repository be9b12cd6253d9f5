import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import getPort from "get-port";
import { ensureJars, startJavaServer } from "../java/java-server.ts";

const POM = fileURLToPath(new URL("pom.xml", import.meta.url));
/** The release that the pom names. */
const RELEASE = "3.9.3";

/** A real ZooKeeper as a process on this machine, which a test can end. */
export type ZooKeeper = {
  readonly port: number;
  kill(): Promise<void>;
  /** Starts it again, with its data. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export async function startZooKeeper(): Promise<ZooKeeper> {
  const jars = await ensureJars(`zookeeper-${RELEASE}`, POM);
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-zookeeper-"));
  const port = await getPort({ host: "127.0.0.1" });
  const config = join(folder, "zoo.cfg");
  await writeFile(
    config,
    `dataDir=${join(folder, "data")}\nclientPort=${port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\ntickTime=1000\n`,
  );
  const main = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
  const args = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", join(jars, "*"), main, config];
  const open = () => startJavaServer("ZooKeeper", args, port);
  let server = await open();
  return {
    port,
    kill: () => server.end("SIGKILL"),
    async start() {
      server = await open();
    },
    async stop() {
      await server.end("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
