import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { findRunning } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { type CommandLine, openCommandLine } from "../../support/worlds/command-line.ts";
import { type Line, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { processorTime } from "../processes.ts";

/** Processor time, in milliseconds each second. */
const LIMIT_MS = 20;
/** For the first half minute the service still reads what has changed at its start, and ClickHouse merges. */
const SETTLE_LOADS = 15;
const MEASURED_LOADS = 5;
const DEMO_DAYS = 14;

export const idle: Part = {
  name: "idle",
  what: "processor time of a service and its embedded ClickHouse while nothing is sent or asked",
  usesWorld: false,
  async measure(run) {
    const questions = {
      "an empty store": () => measureService(run, "an idle second, empty store", []),
      "a store with a demo": () => measureService(run, "an idle second, demo", ["--demo", String(DEMO_DAYS)]),
    };
    return {
      ...(await measureEach(questions, run.say)),
      notes: ["Milliseconds of processor time a second, both processes together; read from /proc, so on Linux alone."],
    };
  },
};

async function measureService({ pace }: Run, name: string, args: readonly string[]): Promise<Line[]> {
  const commandLine = await openCommandLine();
  try {
    await commandLine.startService(args);
    await sleep(SETTLE_LOADS * pace.loadSeconds * 1_000);
    const measured: number[] = [];
    for (let round = 0; round < pace.rounds; round++) {
      measured.push(await millisecondsASecond(commandLine, MEASURED_LOADS * pace.loadSeconds));
    }
    return [within(name, measured, LIMIT_MS)];
  } finally {
    await commandLine.close();
  }
}

async function millisecondsASecond({ dataDir }: CommandLine, seconds: number): Promise<number> {
  const running = await findRunning(dataDir);
  if (running === undefined) throw new Error("the service is not running");
  const children = await readFile(`/proc/${running.pid}/task/${running.pid}/children`, "utf8");
  const pids = [running.pid, ...children.trim().split(" ").map(Number)];
  const before = await processorTime(pids);
  await sleep(seconds * 1_000);
  return ((await processorTime(pids)) - before) / seconds;
}
