import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";

/** A cgroup that limits the memory of the processes in it, without swap. */
export type MemoryGroup = {
  /** Starts a shell command inside, with a process group of its own. */
  spawn(command: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): ChildProcess;
  /** How many processes the kernel has killed because the memory was used up. */
  killed(): Promise<number>;
  /** The most bytes that were ever used at a time, the system's cache of files included. */
  peak(): Promise<number>;
  /** Ends all processes inside. */
  close(): Promise<void>;
};

/** Names of the same files in both versions of cgroups. */
const FILES = {
  v1: {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    kills: "memory.oom_control",
    peak: "memory.max_usage_in_bytes",
  },
  v2: { limit: "memory.max", swap: "memory.swap.max", kills: "memory.events", peak: "memory.peak" },
} as const;

/** @returns undefined where this process may not make one. */
export async function openMemoryGroup(name: string, bytes: number): Promise<MemoryGroup | undefined> {
  const own = await readFile("/proc/self/cgroup", "utf8").catch(() => "");
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
  const files = v1 === undefined ? FILES.v2 : FILES.v1;
  const folder = join("/sys/fs/cgroup", v1 === undefined ? "" : join("memory", v1), `${name}-${process.pid}`);
  try {
    await mkdir(folder);
  } catch {
    return undefined;
  }
  try {
    await writeFile(join(folder, files.limit), String(bytes));
  } catch {
    await rmdir(folder);
    return undefined;
  }
  // A kernel without swap does not have the file.
  await writeFile(join(folder, files.swap), v1 === undefined ? "0" : String(bytes)).catch(() => {});
  const read = (file: string) => readFile(join(folder, file), "utf8");
  return {
    spawn: (command, options) =>
      spawn("sh", ["-c", `echo $$ > "$0/cgroup.procs" && exec ${command}`, folder], {
        ...options,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    killed: async () => Number(/^oom_kill (\d+)$/m.exec(await read(files.kills))?.[1] ?? Number.NaN),
    peak: async () => Number(await read(files.peak).catch(() => Number.NaN)),
    async close() {
      const pids = (await read("cgroup.procs")).split("\n").filter((pid) => pid !== "");
      for (const pid of pids) endProcess(Number(pid));
      await eventually(() => rmdir(folder));
    },
  };
}

/** A process may end by itself first: the embedded server does when the service has. */
function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
