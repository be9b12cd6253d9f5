import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** The load of the machine while we do nothing. */
export type Quietness = {
  /** The load average of the last minute, our own work included. */
  readonly loadAverage: number;
  /** The share of the processors that is in use. */
  readonly busy: number;
};

/** The share of the processors above which other work makes ratios unreliable. */
export const QUIET = 0.15;

export async function measureQuietness(ms: number): Promise<Quietness> {
  const before = spent();
  await sleep(ms);
  const after = spent();
  const busy = 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
  return { loadAverage: Math.round((loadavg()[0] ?? 0) * 100) / 100, busy: Math.round(busy * 100) / 100 };
}

function spent(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, one) => sum + one.idle, 0);
  return { idle, all: times.reduce((sum, one) => sum + one.user + one.nice + one.sys + one.irq, idle) };
}
