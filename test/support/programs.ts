import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Runs a program to its end. @throws what it said when it ended with another code than 0. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input = "",
): Promise<string> {
  return new Promise((settle, fail) => {
    const child = spawn(program, args, { env: { ...process.env, ...env } });
    let [output, said] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.once("error", fail);
    child.once("close", (code) => {
      if (code === 0) settle(output);
      else fail(new Error(`${program} ${args[0]} ended with ${code}: ${(said + output).slice(-4_000)}`));
    });
    // A program may end without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** Installs packages once, into an environment of their own. @returns its Python. */
export async function installPython(name: string, packages: readonly string[]): Promise<string> {
  const folder = await installOnce(name, async (empty) => {
    await runProgram("python3", ["-m", "venv", empty]);
    await runProgram(join(empty, "bin/python"), ["-m", "pip", "install", "--quiet", ...packages]);
  });
  return join(folder, "bin/python");
}

/** Installs npm packages once, into a folder of their own. @returns that folder. */
export const installNpm = (name: string, packages: readonly string[]): Promise<string> =>
  installOnce(name, async (empty) => {
    await writeFile(join(empty, "package.json"), "{}");
    await runProgram("npm", ["install", "--prefix", empty, "--no-audit", "--no-fund", ...packages]);
  });

/**
 * Unpacks packages of a release of Debian once, with all that they need, libc too: nothing of the machine but `apt-get`
 * takes part, and nothing is installed on it.
 * @returns their folder, and functions that run one of their programs and that give the command which does.
 */
export async function unpackDebian(name: string, release: string, packages: readonly string[]) {
  const folder = await installOnce(name, async (empty) => {
    const [sources, status] = [join(empty, "sources"), join(empty, "status")];
    const [lists, cache] = [join(empty, "lists"), join(empty, "cache")];
    await mkdir(`${lists}/partial`, { recursive: true });
    await mkdir(`${cache}/archives/partial`, { recursive: true });
    await writeFile(status, "");
    await writeFile(sources, await archiveOf(release));
    const places = [
      `Dir::Etc::sourcelist=${sources}`,
      "Dir::Etc::sourceparts=-",
      `Dir::State::lists=${lists}`,
      `Dir::State::status=${status}`,
      `Dir::Cache=${cache}`,
      "APT::Install-Recommends=false",
      "Debug::NoLocking=true",
    ].flatMap((option) => ["-o", option]);
    await runProgram("apt-get", [...places, "-qq", "update"]);
    await runProgram("apt-get", [...places, "-qq", "-y", "--download-only", "install", ...packages]);
    const archives = await readdir(`${cache}/archives`);
    for (const archive of archives.filter((file) => file.endsWith(".deb"))) {
      await runProgram("dpkg", ["-x", `${cache}/archives/${archive}`, join(empty, "root")]);
    }
    await Promise.all([lists, cache].map((part) => rm(part, { recursive: true })));
  });
  const root = join(folder, "root");
  const machine = (await readdir(join(root, "usr/lib"))).find((file) => file.endsWith("-linux-gnu")) ?? "";
  const libraries = join(root, "usr/lib", machine);
  const loader = (await readdir(libraries)).find((file) => file.startsWith("ld-linux-")) ?? "";
  const commandOf = (program: string) =>
    [join(libraries, loader), "--library-path", libraries, join(root, program)] as const;
  const runUnpacked = (program: string, args: readonly string[]) => {
    const [command, ...first] = commandOf(program);
    return runProgram(command, [...first, ...args]);
  };
  return { root, commandOf, runUnpacked };
}

/** A line for a list of apt's sources: another release in the archive that this machine's own packages come from. */
async function archiveOf(release: string): Promise<string> {
  const filters = ["Created-By: Packages", "Component: main"];
  const archives = await runProgram("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...filters]);
  const debian = archives.split("\n").find((url) => /\/debian\/?$/.test(url));
  if (debian === undefined) throw new Error("the packages of this machine do not come from an archive of Debian");
  return `deb ${debian} ${release} main\n`;
}

/** @returns the folder of that name among those that stay, which the function has filled once, to its end. */
async function installOnce(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(homedir(), ".cache/noisefloor", name);
  const isDone = join(folder, "is-installed");
  if (existsSync(isDone)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fill(folder);
  await writeFile(isDone, "");
  return folder;
}
