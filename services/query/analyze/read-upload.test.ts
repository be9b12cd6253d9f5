import { routableAddressesIn } from "@noisefloor/domain/search/find-addresses.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { collectAddresses } from "./read-upload.ts";

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
