import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { routableAddressesIn } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { collectAddresses, readUpload } from "./read-upload.ts";

const address = fc.tuple(fc.integer({ min: 1, max: 255 }), fc.nat(3)).map(([a, d]) => `${a}.45.6.${d}`);
const word = fc.oneof(
  address,
  address.map((ip) => ip.replaceAll(".", "[.]")),
  address.map((ip) => ip.replaceAll(".", " . ")),
  fc.constantFrom("GET", "x".repeat(1_500), "1.2.3", "port=22", "é", "::1"),
);
const line = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(" ; "));

test("wherever a text of lines of up to 16 KiB is cut into pieces, its addresses are the same", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.array(fc.nat(10_000), { maxLength: 40 }), (lines, cuts) => {
      const text = lines.join("\n");
      const found = new Set<string>();
      const collector = collectAddresses(found);
      const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
      for (const [index, end] of [...places, text.length].entries())
        collector.add(text.slice(places[index - 1] ?? 0, end));
      collector.end();
      expect([...found]).toEqual([...new Set(lines.flatMap(routableAddressesIn))]);
    }),
  );
});

test("an address is found in a line of any length between words", () => {
  const found = new Set<string>();
  const collector = collectAddresses(found);
  const text = Array.from({ length: 200 }, (_, index) => `${"y".repeat(1_000)},45.6.7.${index}`).join(",");
  for (let start = 0; start < text.length; start += 777) collector.add(text.slice(start, start + 777));
  collector.end();
  expect(found.size).toBe(200);
});

test("in a word of any length no address is cut", () => {
  const text = `${"y".repeat(16_380)}${Array.from({ length: 9_000 }, (_, index) => `&45.6.${index >> 8}.${index & 255}`).join("")}`;
  for (const step of [777, 1_024, 16_385]) {
    const found = new Set<string>();
    const collector = collectAddresses(found);
    for (let start = 0; start < text.length; start += step) collector.add(text.slice(start, start + step));
    collector.end();
    expect([...found]).toEqual(routableAddressesIn(text));
  }
});

const part = (name: string, text: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
const FILE = part("file", "8.8.8.8");
const LARGE = Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024, "x"));

test.each([
  ["another part", [part("other", "").slice(0, -2), ...LARGE, `\r\n${FILE}--b--\r\n`]],
  ["what comes before the parts", [...LARGE, `\r\n${FILE}--b--\r\n`]],
  ["what comes after the parts", [`${FILE}--b--\r\n`, ...LARGE]],
])("of a form, %s counts towards its size", async (_, pieces) => {
  let bytes = 0;
  const sent = Readable.from(pieces.map((piece) => Buffer.from(piece))).on("data", (piece: Buffer) => {
    bytes += piece.length;
  });
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  await expect(readUpload(sent, headers)).rejects.toThrow("The text is larger than 10 MiB");
  expect(bytes).toBeLessThan(12 * 1024 * 1024);
});

test("a form that says that it is too large is not read", async () => {
  const sent = Readable.from([Buffer.from(`${FILE}--b--\r\n`)]);
  const headers = { "content-type": "multipart/form-data; boundary=b", "content-length": "20000000" };
  await expect(readUpload(sent, headers)).rejects.toThrow("The text is larger than 10 MiB");
  expect(sent.readableDidRead).toBe(false);
});

const TEXT = "45.6.7.8\r\n45.6.7.9\r\n";
const utf16 = Buffer.from(`\ufeff${TEXT}`, "utf16le");
const upload = async (bytes: Buffer, step = bytes.length) => {
  const start = Buffer.from(part("file", "").slice(0, -2));
  const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) =>
    bytes.subarray(index * step, (index + 1) * step),
  );
  const sent = Readable.from([start, ...pieces, Buffer.from("\r\n--b--\r\n")]);
  return (await readUpload(sent, { "content-type": "multipart/form-data; boundary=b" })).ips;
};

test.each([
  ["UTF-8", Buffer.from(TEXT)],
  ["UTF-8 with a byte order mark", Buffer.from(`\ufeff${TEXT}`)],
  ["UTF-16 as Windows writes it", utf16],
  ["UTF-16 in the other order of bytes", Buffer.from(utf16).swap16()],
  ["gzip", gzipSync(TEXT)],
  ["gzip of two parts", Buffer.concat([gzipSync("45.6.7.8 "), gzipSync("45.6.7.9")])],
  ["gzip of UTF-16", gzipSync(utf16)],
])("the addresses of a file in %s are found, wherever it is cut", async (_, bytes) => {
  for (const step of [1, 3, bytes.length]) expect(await upload(bytes, step)).toEqual(["45.6.7.8", "45.6.7.9"]);
});

test.each([
  ["ZIP", Buffer.from("PK\u0003\u0004 45.6.7.8"), "a ZIP archive, as XLSX and DOCX files are"],
  ["PDF", Buffer.from("%PDF-1.7 45.6.7.8"), "a PDF document"],
  ["gzip of tar", gzipSync(Buffer.from(`45.6.7.8${"\0".repeat(249)}ustar`)), "a tar archive"],
  ["UTF-32", Buffer.from([0xff, 0xfe, 0, 0, 0x34, 0, 0, 0]), "a text in UTF-32"],
  ["UTF-16 without a mark", utf16.subarray(2), "no text, or one in UTF-16 without a byte order mark"],
  ["damaged gzip", Buffer.concat([gzipSync(TEXT).subarray(0, 15), Buffer.from("x".repeat(50))]), "gzip, and damaged"],
])("a file that is %s is refused by its name", async (_, bytes, name) => {
  await expect(upload(bytes)).rejects.toThrow(name);
});

test("what a small gzip file becomes counts towards its size", async () => {
  await expect(upload(gzipSync(Buffer.alloc(11 * 1024 * 1024, "x")))).rejects.toThrow("larger than 10 MiB");
});

test.each([
  ["plain", (text: Buffer) => text],
  ["compressed", (text: Buffer) => gzipSync(text)],
])("others get their turn after every 64 KiB of a %s text", async (_, pack) => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await upload(pack(Buffer.alloc(1024 * 1024, "45.6.7.8 a word\n")), 64 * 1024);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(16);
});
