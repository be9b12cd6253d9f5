import { expect, test } from "vitest";
import { PLAIN } from "../../../test/support/ingest/decode.ts";
import { findFormats } from "./all.ts";
import { openDecoder } from "./decoder.ts";

const LENGTH = 900_000;
const filled = (text: string) => text.repeat(LENGTH / text.length);
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`);
const packet = { "@timestamp": "2026-11-20T14:00:00Z", src_ip: "45.9.0.1", dest_port: 80 };
const published = (payload: object) => ({ channel: "cowrie.sessions", payload: { peerIP: "45.9.0.1", ...payload } });

/** Records of which one member is the worst that it can be. */
const RECORDS: readonly (readonly [what: string, format: string, record: object | string])[] = [
  ["header fields that are a text", "tpot", { ...packet, type: "Tanner", url: "/", headers: filled("a") }],
  ["a request of many fields", "tpot", { ...packet, type: "Tanner", request: `GET / HTTP/1.1\n${filled("a:\n")}` }],
  ["a request of many cookies", "tpot", { ...packet, type: "Tanner", url: "/", headers: { Cookie: filled("a=;") } }],
  ["many CVEs", "tpot", { ...packet, type: "Tanner", alert: { cve_id: filled("2021-44228,") } }],
  ["many commands and unknown words", "hpfeeds", published({ commands: words(9_000), unknownCommands: words(9_000) })],
  ["a payload of many values", "hpfeeds", { channel: "a", payload: `[${filled("{},")}1]` }],
  ["many quotes in a line", "marx", `datetime,host,src,"${filled('"a",')}`],
  ["many columns in a line", "marx", `datetime,host,src,${filled(",")}`],
  ["many columns in a header", "zeek", `#fields\t${filled("a\t")}`],
];

const nestedTexts = (levels: number) => {
  let value: unknown = { a: 1 };
  for (let level = 0; level < levels; level++) value = { message: JSON.stringify(value) };
  return JSON.stringify(value);
};
const members = (count: number, value: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value(index)]));

/** Wrappers that hold as much as they can, and no record. */
const WRAPPERS: readonly (readonly [what: string, record: object | string])[] = [
  ["text in text in text", nestedTexts(17)],
  ["one text of many values", { message: `[${filled("{},").slice(0, 400_000)}{}]` }],
  ["many texts of many values", members(40, () => `[${"{},".repeat(6_000)}{}]`)],
  ["many texts that are no JSON", members(20_000, () => '{"a":{"b"')],
  ["many objects", members(9_000, () => ({ a: { b: 1 } }))],
  [
    "each carrier in each carrier",
    JSON.stringify({ message: { log: { event: members(3_000, () => ({ message: {} })) } } }),
  ],
  ["a list of lists", { message: JSON.stringify(Array.from({ length: 9_000 }, () => [[]])) }],
  ["many lines", { message: filled("{}\n") }],
  ["braces before braces", filled("{")],
  ["a head of many braces", `a ${filled("{a")}`],
  ["quotes", filled('"')],
  ["a form", `message=${filled("%7B")}`],
  ["the bytes of a text", { MESSAGE: Array.from({ length: 19_000 }, () => 123) }],
];

test.each(WRAPPERS)("a wrapper with %s blocks nobody", (_what, record) => {
  const bytes = Buffer.from(typeof record === "string" ? record : JSON.stringify(record));
  for (const format of ["auto", "cowrie", "zeek"]) {
    const decode = openDecoder(findFormats(format) ?? [], PLAIN);
    const times = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      expect(decode(bytes).every(({ value }) => value === undefined)).toBe(true);
      return process.cpuUsage(before).user / 1_000;
    });
    expect(Math.min(...times), format).toBeLessThan(50);
  }
});

test.each(RECORDS)("%s are read in no time", (_what, format, record) => {
  const decode = openDecoder(findFormats(format) ?? [], PLAIN);
  const bytes = Buffer.from(typeof record === "string" ? record : JSON.stringify(record));
  const before = process.cpuUsage();
  decode(bytes);
  // By the processor's time, as this machine may be busy. Each of these took from half a second to two seconds.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(250);
});

test("what is kept of a record that nests objects where a text is due takes no memory of theirs", () => {
  const nested = Array.from({ length: 1_000 }, () => []);
  const record = { event_type: "flow", flow_id: 1, src_ip: "45.9.0.1", timestamp: nested, icmp_type: nested };
  const [format] = findFormats("suricata-eve") ?? [];
  const [decoded] = format ? openDecoder([format], PLAIN)(Buffer.from(JSON.stringify(record))) : [];
  expect(JSON.stringify(decoded?.value)).not.toContain("[[]");
});
