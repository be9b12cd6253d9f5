import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

let commandLine: CommandLine;

beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

async function childOf(pid: number): Promise<number> {
  return Number((await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim());
}

test.runIf(process.platform === "linux")(
  "a service outlives its ClickHouse: queries get a 503, the intake waits, and the log says what ended",
  async () => {
    const service = await commandLine.startService();
    const server = await childOf(service.child.pid ?? 0);
    process.kill(server, "SIGKILL");
    const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.9" };
    const posted = fetch(`${service.url}/v1/observations`, { method: "POST", body: JSON.stringify(observation) });
    const seen = new Set<number>();
    await eventually(async () => {
      const { status } = await fetch(`${service.url}/v3/noise/ips/45.0.0.9/timeline`);
      seen.add(status);
      expect(status).toBe(200);
    });
    expect(seen).toEqual(new Set([503, 200]));
    expect((await posted).status).toBe(202);
    expect((await fetch(`${service.url}/v3/community/45.0.0.9`)).status).toBe(200);
    // Readiness is checked once a second.
    await eventually(async () => expect((await fetch(`${service.url}/readyz`)).status).toBe(200));
    const lines = service
      .errors()
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: expect.stringMatching(
          /^ClickHouse \(pid \d+\) was killed by signal 9 \(SIGKILL\), possibly out of memory; starting it again$/,
        ),
        signal: "SIGKILL",
        logFile: join(commandLine.dataDir, "clickhouse", "clickhouse.log"),
      }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ msg: "the embedded ClickHouse answers again" }));
    service.child.kill("SIGTERM");
    expect((await service.finished).code).toBe(0);
  },
);
