import { PassThrough, type Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import type { ReplayOptions } from "@noisefloor/cli/replay/options.ts";
import { run } from "@noisefloor/clickhouse/client/query.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { observationLine as line } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { readBackDeadLetters, readBackObservations } from "../../support/oracle/replayed-records.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
beforeEach(async () => {
  world = await createWorld(() => NOW);
});
afterEach(() => world.close());

async function replayPipe(stdin: Readable, options: Partial<ReplayOptions> = {}, signal?: AbortSignal) {
  const command = commandOver(world, undefined, signal);
  const failure = await runReplay(
    ["-"],
    { format: "observations", ...options },
    { ...command, signal: command.signal, stdin },
  )
    .then(() => "")
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  const { exitCode } = process;
  process.exitCode = undefined;
  return { output: command.lines.join("\n"), failure, exitCode };
}

const stored = async () => (await run(world.client, readBackObservations, {})).map(({ ip }) => ip);

test("what comes through a pipe is stored while the pipe stays open, and Ctrl-C leaves no half of a line", async () => {
  const pipe = new PassThrough();
  const stopping = new AbortController();
  pipe.write(`${line("45.0.0.1", NOW)}\n${line("45.0.0.2", NOW)}\nrubbish\n`);
  const replaying = replayPipe(pipe, {}, stopping.signal);
  await eventually(async () => expect(await stored()).toEqual(["45.0.0.1", "45.0.0.2"]));
  pipe.write(`${line("45.0.0.3", NOW)}\n${line("45.0.0.4", NOW).slice(0, 30)}`);
  await eventually(async () => expect(await stored()).toHaveLength(3));
  stopping.abort();
  expect(await replaying).toEqual({
    output: expect.stringMatching(/^Stopped before the end; .*\nread {6}4\nstored {4}3\nrejected {2}1\n/),
    failure: "",
    exitCode: 130,
  });
  expect(await run(world.client, readBackDeadLetters, {})).toMatchObject([{ payload: "rubbish" }]);
});

test("a pipe that is stopped before it said anything ends the replay", async () => {
  const stopping = new AbortController();
  const replaying = replayPipe(new PassThrough(), {}, stopping.signal);
  stopping.abort();
  expect(await replaying).toMatchObject({ output: expect.stringContaining("read      0"), failure: "", exitCode: 130 });
});

test("a pipe may be packed, and may come in pieces of any size", async () => {
  const pipe = new PassThrough();
  const packed = gzipSync(`${line("45.0.0.1", NOW)}\n${line("45.0.0.2", NOW)}\n`);
  pipe.write(packed.subarray(0, 1));
  setTimeout(() => pipe.write(packed.subarray(1, 40)), 50);
  setTimeout(() => pipe.end(packed.subarray(40)), 1_500);
  expect(await replayPipe(pipe)).toMatchObject({ failure: "", exitCode: undefined });
  expect(await stored()).toEqual(["45.0.0.1", "45.0.0.2"]);
});

test("of a pipe, too, nothing is stored without --yes when the first second shows a sensor's own address as a source", async () => {
  const pipe = new PassThrough();
  for (let index = 0; index < 300; index++) {
    const [src_ip, dest_ip] =
      index % 4 === 0 ? ["45.0.0.1", `45.1.0.${index % 250}`] : [`45.1.0.${index % 250}`, "45.0.0.1"];
    const event = {
      timestamp: new Date(NOW).toISOString(),
      flow_id: index,
      event_type: "tls",
      proto: "TCP",
      host: "tap",
    };
    pipe.write(
      `${JSON.stringify({ ...event, src_ip, dest_ip, src_port: 40_000, dest_port: 443, tls: { version: "TLS 1.2" } })}\n`,
    );
  }
  expect((await replayPipe(pipe, { format: "auto" })).failure).toMatch(
    /^45\.0\.0\.1 looks like the own address .* pass --yes/,
  );
  expect(await stored()).toEqual([]);
});

test("times of standard input can be shifted, once it has ended", async () => {
  const pipe = new PassThrough();
  pipe.end(`${line("45.0.0.1", 1_000_000)}\n${line("45.0.0.2", 2_000_000)}\n`);
  expect(await replayPipe(pipe, { shiftTo: "now" })).toMatchObject({
    failure: "",
    output: expect.stringContaining("stored    2"),
  });
});
