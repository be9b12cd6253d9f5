import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { LOG_FORMATS } from "../../formats/all.ts";
import { openLogFiles, type SkippedFile } from "./open-files.ts";
import { readRecords } from "./records.ts";

const reading = { formats: LOG_FORMATS, decode: PLAIN };
const cowrie = (number: number) =>
  `${JSON.stringify({
    ...{ eventid: "cowrie.session.connect", session: `s${number}`, src_ip: `45.83.64.${number}`, sensor: "pot" },
    timestamp: "2026-11-19T10:00:00.000000Z",
  })}\n`;

async function makeFolder(files: Readonly<Record<string, { content: string | Buffer; written: string }>>) {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, { content, written }] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), content);
    await utimes(join(folder, name), new Date(written), new Date(written));
  }
  return folder;
}

async function readFolder(path: string) {
  const skipped: SkippedFile[] = [];
  const onSkipped = (file: SkippedFile) => void skipped.push({ ...file, path: file.path.slice(path.length + 1) });
  const { files } = await openLogFiles([path], Readable.from([]), { reading, onSkipped });
  const sources: unknown[] = [];
  for await (const { value } of readRecords(files, { ...reading, shiftMs: 0 })) sources.push(Object(value).source_ip);
  return { names: files.map(({ name }) => name.slice(path.length + 1)), sources, skipped };
}

test("a folder is all logs below it, the oldest first, packed ones too", async () => {
  const folder = await makeFolder({
    "cowrie/cowrie.json": { content: cowrie(3), written: "2026-11-19T00:00:00Z" },
    "cowrie/cowrie.json.1": { content: cowrie(2), written: "2026-11-18T00:00:00Z" },
    "cowrie/old/cowrie.json.2.gz": { content: gzipSync(cowrie(1)), written: "2026-11-17T00:00:00Z" },
    "kern.log": {
      content: `x\nNov 19 13:00:00 fw kernel: IN=eth0 OUT= SRC=45.83.64.9 DST=198.51.100.7 LEN=40 PROTO=TCP SPT=5 DPT=23 SYN \n`,
      written: "2026-11-20T00:00:00Z",
    },
  });
  expect(await readFolder(folder)).toEqual({
    names: ["cowrie/old/cowrie.json.2.gz", "cowrie/cowrie.json.1", "cowrie/cowrie.json", "kern.log"],
    sources: ["45.83.64.1", "45.83.64.2", "45.83.64.3", undefined, "45.83.64.9"],
    skipped: [],
  });
});

test("what no format knows in a folder is skipped with a reason, and does not keep the others from being read", async () => {
  const written = "2026-11-19T00:00:00Z";
  const many = Array.from({ length: 9_000 }, (_, index) => cowrie(index % 200)).join("");
  const cut = gzipSync(many).subarray(0, -40);
  const folder = await makeFolder({
    "a/image.png": { content: Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), written },
    "a/notes.txt": { content: "to do\nfeed the cat\n", written },
    "a/empty.json": { content: "", written },
    "b/cut.json.gz": { content: cut, written },
    "b/cowrie.json": { content: cowrie(250), written: "2026-11-20T00:00:00Z" },
  });
  await symlink("/etc", join(folder, "b/outside"));
  const { names, sources, skipped } = await readFolder(folder);
  expect(names).toEqual(["b/cut.json.gz", "b/cowrie.json"]);
  expect(sources.length).toBeGreaterThan(5_000);
  expect(sources.at(-1)).toBe("45.83.64.250");
  expect(skipped.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
    { path: "a/empty.json", reason: "it is empty" },
    { path: "a/image.png", reason: expect.stringMatching(/^no format knows its first \d records$/) },
    { path: "a/notes.txt", reason: "no format knows its first 2 records" },
    { path: "b/cut.json.gz", reason: expect.stringMatching(/cut\.json\.gz is truncated: its gzip data end early$/) },
    { path: "b/outside", reason: "it is no regular file" },
  ]);
});

test("a file that is named itself is read whatever it holds", async () => {
  const folder = await makeFolder({ "notes.txt": { content: "to do\n", written: "2026-11-19T00:00:00Z" } });
  const options = { reading, onSkipped: () => expect.unreachable() };
  expect((await openLogFiles([join(folder, "notes.txt")], Readable.from([]), options)).files).toHaveLength(1);
});
