import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { compare } from "../../corpus/compare.ts";
import { listFiles, readCorpusOptions } from "../../corpus/options.ts";
import { countRaw } from "../../corpus/raw/count-raw.ts";
import { replayFile } from "../../corpus/replay-file.ts";
import { cowrieLines, visits } from "../../support/builders/cowrie-log.ts";

const isOwn = () => false;
const VISITS = visits(20, Date.now() - 3_600_000);
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-corpus-test-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function check(name: string, content: string | Buffer) {
  const path = join(folder, name);
  await writeFile(path, content);
  const [raw, replayed] = [await countRaw(path, isOwn), await replayFile(path, "auto", inject("clickhouse"), {})];
  return { raw, replayed, ...compare(name, raw, replayed) };
}

test("what a replay stored of a log is what its raw records say, and a difference does not stay unsaid", async () => {
  const lines = VISITS.flatMap(cowrieLines);
  const { row, silent, raw, replayed } = await check("cowrie.json.gz", gzipSync(lines.join("\n")));
  const logins = String(VISITS.reduce((sum, visit) => sum + visit.logins, 0));
  expect(silent).toEqual([]);
  expect(row).toMatchObject({ format: "cowrie", read: lines.length, sessions: "20", logins, commands: "1" });
  const withLess = { ...replayed, stored: { ...replayed.stored, sources: replayed.stored.sources - 1 } };
  expect(compare("less", raw, withLess).silent).toEqual([expect.stringMatching(/^sources: \d+ expected, \d+ stored$/)]);
  expect(compare("lost", raw, { ...replayed, ignored: {} }).silent).toEqual([expect.stringMatching(/^read \d+, but/)]);
});

test("a source that no rule lets in is explained, and a rejected record is told", async () => {
  const records = [1, 2].map((id) => ({
    ts: 1_784_000_000 + id,
    "id.orig_h": `192.175.48.${id}`,
    "id.resp_p": 502,
    func: "x",
  }));
  const inside = { ...records[0], "id.orig_h": "10.0.0.7" };
  const text = `[${[...records, inside].map((record) => JSON.stringify(record)).join(",")}]`;
  const { row, silent } = await check("modbus.json", text);
  expect(silent).toEqual([]);
  expect(row).toMatchObject({
    format: "zeek",
    sources: "3 raw, 2 (explained)",
    rejected: "1 (source-not-routable 1)",
    explained: "sources that are no routable IPv4 address",
  });
});

test("folders are searched, also those of the environment, and nothing at all is an error", async () => {
  await writeFile(join(folder, "b.json"), "");
  await writeFile(join(folder, "README.md"), "");
  expect(await listFiles([folder])).toEqual([join(folder, "b.json")]);
  expect(readCorpusOptions([], "/a:/b")).toMatchObject({ paths: ["/a", "/b"], format: "auto" });
  expect(() => readCorpusOptions([], undefined)).toThrow("name files or folders, or set CORPUS");
});
