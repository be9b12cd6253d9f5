import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { installNpm, runProgram } from "../programs.ts";

const START_MS = 30_000;
/** The major version of Node in the base image of infra/docker/Dockerfile. */
const NODE_MAJOR = 24;
/** Of this machine, on which a registry may be reached through a proxy with a certificate of its own. */
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

export type ContainerEngine = {
  /** Runs `docker` with these arguments. @returns what it wrote. @throws what it said, when it failed. */
  docker(...args: string[]): Promise<string>;
  stop(): Promise<void>;
};

/** This machine's Docker, else that of Debian, which is installed and, unless that has done so, started here. */
export async function openContainerEngine(): Promise<ContainerEngine> {
  const docker = (...args: string[]) => runProgram("docker", args);
  const isRunning = () =>
    docker("version").then(
      () => true,
      () => false,
    );
  if (!(await isRunning())) await installWithApt("docker.io");
  return (await isRunning()) ? { docker, stop: async () => {} } : startDocker();
}

/** An engine that nothing else on this machine finds. */
async function startDocker(): Promise<ContainerEngine> {
  // On a disk, for its layers would not fit into memory, and below a folder whose file system layers may lie on.
  const folder = await mkdtemp("/var/tmp/noisefloor-docker-");
  const socket = `unix://${folder}/docker.sock`;
  const places = [
    ["-H", socket],
    ["--data-root", join(folder, "data")],
    ["--exec-root", join(folder, "run")],
    ["--pidfile", join(folder, "docker.pid")],
  ];
  const daemon = spawn("dockerd", places.flat(), { stdio: "ignore" });
  const docker = (...args: string[]) => runProgram("docker", ["-H", socket, ...args]);
  const stop = async () => {
    const hasEnded = daemon.exitCode === null ? once(daemon, "exit") : undefined;
    daemon.kill("SIGTERM");
    await hasEnded;
    // The daemon leaves it mounted; one that did not start has none.
    await runProgram("umount", [join(folder, "run/netns/default")]).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  };
  await eventually(() => docker("version"), START_MS).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { docker, stop };
}

/** Makes the image available from which ours are built: as it is, from its registry, or made of Debian and Node's package. */
export async function provideBaseImage({ docker }: ContainerEngine, name: string): Promise<void> {
  const hasImage = (attempt: Promise<string>) =>
    attempt.then(
      () => true,
      () => false,
    );
  if (await hasImage(docker("image", "inspect", name))) return;
  if (await hasImage(docker("pull", name))) return;
  const folder = await mkdtemp("/var/tmp/noisefloor-base-");
  try {
    const root = join(folder, "root");
    await installWithApt("debootstrap");
    await runProgram("debootstrap", ["--variant=minbase", "--include=ca-certificates", "bookworm", root]);
    await addNode(root);
    await runProgram("chroot", [root, "useradd", "--uid", "1000", "--user-group", "--create-home", "node"]);
    await runProgram("tar", ["-C", root, "-cf", join(folder, "base.tar"), "."]);
    const settings = ["NODE_EXTRA_CA_CERTS", "npm_config_cafile"].flatMap((env) => [
      "-c",
      `ENV ${env}=${CERTIFICATES}`,
    ]);
    await docker("import", ...settings, join(folder, "base.tar"), name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function addNode(root: string): Promise<void> {
  const nodePackage = `node-linux-${process.arch}`;
  const packages = join(
    await installNpm("node-for-images", [`${nodePackage}@${NODE_MAJOR}`, "npm@11"]),
    "node_modules",
  );
  const [bin, modules] = [join(root, "usr/local/bin"), join(root, "usr/local/lib/node_modules")];
  await mkdir(modules, { recursive: true });
  await cp(join(packages, nodePackage, "bin/node"), join(bin, "node"));
  await cp(join(packages, "npm"), join(modules, "npm"), { recursive: true });
  for (const command of ["npm", "npx"]) {
    await symlink(`../lib/node_modules/npm/bin/${command}-cli.js`, join(bin, command));
  }
  await cp(CERTIFICATES, join(root, CERTIFICATES));
}

async function installWithApt(name: string): Promise<void> {
  await runProgram("apt-get", ["-qq", "update"]);
  await runProgram("apt-get", ["-qq", "-y", "install", name], { DEBIAN_FRONTEND: "noninteractive" });
}
