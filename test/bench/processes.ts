import { readFile } from "node:fs/promises";

/** Linux counts processor time in hundredths of a second, whatever its clock. */
const TICK_MS = 10;
/** Places of a process's and its kernel's time after the name, which may hold spaces. */
const [USER, SYSTEM] = [11, 12];

/** The processor time of some processes since they began, in milliseconds. */
export async function processorTime(pids: readonly number[]): Promise<number> {
  let ticks = 0;
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[USER]) + Number(fields[SYSTEM]);
  }
  return ticks * TICK_MS;
}

/** The bytes of a process that are in memory. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
