import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { findFormats } from "../../formats/all.ts";
import { readFile } from "./log-files.ts";
import { openLogFiles } from "./open-files.ts";

const line = (day: string) =>
  `${day} 13:00:00 fw kernel: IN=eth0 OUT= SRC=45.83.64.9 DST=198.51.100.7 LEN=40 PROTO=TCP SPT=5 DPT=23 SYN \n`;

async function timesOf(written: string, days: readonly string[], latestTime?: number): Promise<unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-test-"));
  try {
    const path = join(folder, "kern.log");
    await writeFile(path, days.map(line).join(""));
    await utimes(path, new Date(written), new Date(written));
    const options = { formats: findFormats("netfilter") ?? [], decode: { ...PLAIN, latestTime } };
    const { files } = await openLogFiles([path], Readable.from([]), { reading: options, onSkipped: () => {} });
    const times: unknown[] = [];
    for (const file of files) {
      for await (const { value } of readFile(file, options)) times.push(Object(value).observed_at);
    }
    return times;
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("syslog lines of a file are of the last year before it was written, across New Year, too", async () => {
  expect(await timesOf("2023-01-03T00:00:00Z", ["Dec 31", "Jan  2"])).toEqual([
    "2022-12-31T13:00:00Z",
    "2023-01-02T13:00:00Z",
  ]);
});

test("a latest time wins over the file's date, and a file of the dawn of time is of the last year", async () => {
  const endOf2021 = Date.UTC(2022, 0, 1) - 1;
  expect(await timesOf("2023-01-03T00:00:00Z", ["Dec 31"], endOf2021)).toEqual(["2021-12-31T13:00:00Z"]);
  expect(await timesOf("1980-01-01T00:00:00Z", ["Nov 19"])).toEqual(["2026-11-19T13:00:00Z"]);
});
