import { Readable } from "node:stream";
import { routableAddressesIn } from "@noisefloor/domain/search/find-addresses.ts";
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
