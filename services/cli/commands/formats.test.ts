import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { readSettings } from "@noisefloor/config/settings.ts";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFormats } from "../formats.ts";
import { UserError } from "../framework/command.ts";
import { runFormatsTest } from "./formats.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-maps-"));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const MAP = `
name: knocks
pattern: '^(?P<time>\\S+) knock from (?P<ip>\\S+) on (?P<port>\\d+)$'
ignore: [{reason: other-program, when: {line: {matches: '^cron'}}}]
fields: {observed_at: time, source_ip: ip, destination_port: port}`;
const KNOCK = "2020-11-20T13:00:00Z knock from 45.83.64.21 on 22";

async function runTest(map: string, content: string | undefined, { json = false, limit = 20 } = {}) {
  const path = join(folder, "map.yaml");
  await writeFile(path, map);
  const lines: string[] = [];
  const failure = await runFormatsTest(
    path,
    content === undefined ? [] : ["-"],
    { json, limit },
    {
      settings: readSettings({ LOG_LEVEL: "silent" }),
      log: createLogger("test", "silent"),
      signal: new AbortController().signal,
      print: (line = "") => void lines.push(line),
      stdin: Readable.from([content ?? ""]),
      isTerminal: false,
      ask: undefined,
    },
  ).then(
    () => "",
    (error: unknown) => (error instanceof UserError ? error.message : Promise.reject(error)),
  );
  return { output: lines.join("\n"), failure };
}

test("formats test shows what each record becomes and why others are rejected, and ends badly when one is", async () => {
  const { output, failure } = await runTest(
    MAP,
    `${KNOCK}\ncron job\nknock knock\nyesterday knock from 45.83.64.21 on 1`,
  );
  expect(output).toMatch(/^1 +observation +\{"observed_at":"2020-11-20T13:00:00Z".*"destination_port":22/m);
  expect(output).toMatch(/^2 +ignored +other-program$/m);
  expect(output).toMatch(/^3 +unknown-format +the line does not match the pattern of the field map knocks/m);
  expect(output).toMatch(/^4 +invalid-observation +.*"yesterday"/m);
  expect(output).toMatch(/^read +4\naccepted +1\nignored +1\nrejected +2\nauto +3 as knocks, 1 by no format$/m);
  expect(failure).toBe("2 of 4 records were rejected");
});

test("formats test ends well when every record is read, counts those that it does not show, and writes JSON", async () => {
  const content = `${KNOCK}\n${KNOCK.replace("22", "23")}\ncron job`;
  const { output, failure } = await runTest(MAP, content, { json: true, limit: 1 });
  expect(failure).toBe("");
  expect(JSON.parse(output)).toMatchObject({
    ...{ problems: [], read: 3, accepted: 2, ignored: 1, rejected: 0, auto: { knocks: 3 } },
    records: [{ record: "1", outcome: "observation", result: { source_ip: "45.83.64.21" } }],
  });
  expect((await runTest(MAP, "cron job")).failure).toBe("no record became an observation");
});

test("formats test tells all errors of a map at once, and checks a map alone", async () => {
  const faulty = await runTest("name: X\npattern: 5\nfields: {sensor: a}", undefined);
  expect(faulty.output.split("\n")).toHaveLength(3);
  expect(faulty.failure).toBe("the field map has 3 errors, listed above");
  expect(await runTest(MAP, undefined)).toEqual({ output: "The field map knocks has no errors.", failure: "" });
});

test("auto tries a map of one's own first, the maps that come along last, and one's own replaces its namesake there", async () => {
  const path = join(folder, "own.yaml");
  await writeFile(path, MAP.replace("name: knocks", "name: access-log"));
  const originsOf = (paths: string[]) => readFormats(paths).map(({ format, origin }) => `${origin}: ${format.name}`);
  const plain = originsOf([]);
  expect(plain.slice(0, LOG_FORMATS.length)).toEqual(LOG_FORMATS.map(({ name }) => `built in: ${name}`));
  expect(plain).toContain("comes along: access-log");
  const own = originsOf([path]);
  expect(own[0]).toBe("FIELD_MAPS: access-log");
  expect(own).not.toContain("comes along: access-log");
  await writeFile(path, MAP.replace("name: knocks", "name: cowrie"));
  expect(() => readFormats([path])).toThrow('FIELD_MAPS: the name "cowrie" belongs to another format');
  await writeFile(path, MAP.replace("source_ip: ip", "source_ip: address"));
  expect(() => readFormats([path])).toThrow("fields.source_ip: no pattern has a group address");
});
