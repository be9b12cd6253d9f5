import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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

const RECORDS = [{ a: 1, b: [{}] }, { c: "}{ ] \n" }, { d: { e: null } }];
const compact = RECORDS.map((record) => JSON.stringify(record));
const pretty = RECORDS.map((record) => JSON.stringify(record, undefined, 2));

test.each([
  ["lines", compact.join("\n")],
  ["lines with carriage returns after a byte order mark", `\ufeff${compact.join("\r\n")}\r\n`],
  ["objects over several lines", pretty.join("\n")],
  ["objects over several lines, one right after the other", pretty.join("")],
  ["objects one after the other on a line", compact.join("")],
  ["objects one after the other on a line, with spaces", `${compact.join(" ")}\n`],
  ["an array on one line", `[${compact.join(", ")}]`],
  ["an array of a line each", `[\n${compact.join(",\n")}\n]\n`],
  ["an array over many lines", JSON.stringify(RECORDS, undefined, 2)],
  ["two arrays", `[${compact.slice(0, 1).join()}]\n[\n${compact.slice(1).join(",")}\n]`],
  ["a search answer", `{"took":5,"_shards":{"total":1},"hits":{"total":{"value":3},"hits":[${compact.join()}]}}`],
  [
    "a search answer over many lines",
    JSON.stringify({ took: 5, hits: { total: { value: 3 }, max_score: 1, hits: RECORDS } }, undefined, 2),
  ],
])("%s give the same records, however the stream is cut", async (_what, content) => {
  const bytes = Buffer.from(content);
  for (const size of [1, 2, 7, 64, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const records = await linesOf(chunks);
    expect(records.map((record): unknown => JSON.parse(record.toString()))).toEqual(RECORDS);
  }
});

test("a torn line is a record of its own and costs none of its neighbours", async () => {
  const torn = ['{"a":1,"b":', '{"a":"ro', '{"a":[', '{"a":{"b":', "{", '{"a":1}}'];
  for (const line of torn) {
    expect(await textsOf(`{"x":1}\n${line}\n{"y":2}\n{"z":3}\n`), line).toEqual([
      '{"x":1}',
      line,
      '{"y":2}',
      '{"z":3}',
    ]);
    expect(await textsOf(`[\n{"x":1},\n${line}\n{"y":2},\n{"z":3}\n]`), `${line} in an array`).toEqual(
      line === '{"a":1}}' ? ['{"x":1}', '{"a":1}', "}", '{"y":2}', '{"z":3}'] : ['{"x":1}', line, '{"y":2}', '{"z":3}'],
    );
  }
});

test("lines of text that begin with brackets, braces, quotes or numbers come whole, however the stream is cut", async () => {
  const lines = [
    ...["[Sun Nov 29 01:00:00 2026] [core:error] a", '["torn', "[0] cowrie: [1764400000.0, {}]", "[]]"],
    ...[
      "[",
      '"2026-11-29","a","b"',
      "[{core}] up",
      "192.0.2.1 - - GET /",
      '"GET /" 200',
      "{core} up",
      "true or not",
      '{"a":1}',
      "2026-11-29 up",
    ],
  ];
  for (const size of [1, 2, 7, 1_000]) {
    const chunks = lines.join("\n").match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    // Only what begins like an array of objects loses its bracket.
    expect(await textsOf(...chunks)).toEqual(lines.map((line) => line.replace("[{core}", "{core}")));
  }
});

test("NUL bytes that a truncated log begins with belong to the record after them, as many as fit", async () => {
  const [small] = await linesOf([Buffer.alloc(5_000), '{"a":1}\n']);
  expect(small).toEqual(Buffer.concat([Buffer.alloc(5_000), Buffer.from('{"a":1}')]));
  const [large] = await linesOf([...Array.from({ length: 40 }, () => Buffer.alloc(MIB)), '{"a":1}\n']);
  expect(large?.toString()).toMatch(/^\0*\{"a":1\}$/);
  expect(large?.length).toBeLessThan(6 * MIB);
});

/** The bytes of all buffers of the process that are in use. */
function bytesInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().arrayBuffers;
}

test("an array of any size is read with flat memory", async () => {
  const chunk = Buffer.from(`${JSON.stringify({ a: "x".repeat(1_000) })},\n`.repeat(100));
  let records = 0;
  // Other tests of this process keep some.
  const before = bytesInUse();
  let most = 0;
  const stream = Readable.from(
    (function* () {
      yield "[";
      for (let index = 0; index < 1_200; index++) yield chunk;
      yield "{}]";
    })(),
  );
  let others = 0;
  for await (const record of cutStream(stream)) {
    if (++records % 10_000 === 0) most = Math.max(most, bytesInUse());
    if (record[0] !== 0x7b) others++;
  }
  expect([records, others]).toEqual([120_001, 0]);
  expect(most - before).toBeLessThan(60 * MIB);
});
