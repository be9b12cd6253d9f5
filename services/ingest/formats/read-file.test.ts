import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cutStream } from "./read-file.ts";

const MIB = 1024 * 1024;

async function linesOf(chunks: readonly (string | Buffer)[]): Promise<Buffer[]> {
  const lines: Buffer[] = [];
  for await (const line of cutStream(Readable.from(chunks))) lines.push(line);
  return lines;
}

async function textsOf(...chunks: string[]): Promise<string[]> {
  return (await linesOf(chunks)).map((line) => line.toString());
}

test("lines come without their ends, be they LF or CRLF, and without blank ones", async () => {
  expect(await textsOf("a\nb\r\n\n\r\nc")).toEqual(["a", "b", "c"]);
  expect(await textsOf("a\n", "b\n")).toEqual(["a", "b"]);
  expect(await textsOf()).toEqual([]);
  expect(await textsOf("\n\r\n")).toEqual([]);
});

test("a line comes without the spaces around it, with the carriage returns inside it", async () => {
  expect(await textsOf(" a \n\tb\rc\r\n")).toEqual(["a", "b\rc"]);
});

test("a line end that a chunk border splits is one line end", async () => {
  expect(await textsOf("a\r", "\nb", "\r", "\n")).toEqual(["a", "b"]);
});

test("the same lines come out however the stream is cut into chunks", async () => {
  const byte = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0x0a, 0x0d) }, { weight: 5, arbitrary: fc.nat(255) });
  const content = fc.array(byte, { maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  const cuts = fc.array(fc.nat(60), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(content, cuts, async (bytes, at) => {
      const edges = [0, ...at.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(Buffer.concat(chunks)).toEqual(bytes);
      const expected = bytes
        .toString("latin1")
        .split("\n")
        .map((line) => line.replace(/^[ \t\r]+|[ \t\r]+$/g, ""))
        .filter((line) => line !== "");
      expect((await linesOf(chunks)).map((line) => line.toString("latin1"))).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test("an endless line does not fill the memory: its rest is dropped, and the next line is complete", async () => {
  const endless = Array.from({ length: 40 }, () => Buffer.alloc(MIB / 2, "x"));
  const [first, ...rest] = await linesOf([...endless, "\nafter\n"]);
  expect(first?.length).toBeGreaterThanOrEqual(4 * MIB);
  expect(first?.length).toBeLessThan(5 * MIB);
  expect(rest.map((line) => line.toString())).toEqual(["after"]);
});

test("a line just below four MiB comes whole", async () => {
  const chunks = Array.from({ length: 7 }, () => Buffer.alloc(MIB / 2, "x"));
  const lines = await linesOf([...chunks, Buffer.alloc(MIB / 2 - 1, "y"), "\n", "after"]);
  expect(lines.map((line) => line.length)).toEqual([4 * MIB - 1, 5]);
});

test("a stream that fails throws, instead of looking like a short file", async () => {
  const breaking = Readable.from(
    (function* () {
      yield "a\nb";
      throw new Error("the disk is gone");
    })(),
  );
  const seen: string[] = [];
  const reading = async () => {
    for await (const line of cutStream(breaking)) seen.push(line.toString());
  };
  await expect(reading()).rejects.toThrow("the disk is gone");
  expect(seen).toEqual(["a"]);
});
