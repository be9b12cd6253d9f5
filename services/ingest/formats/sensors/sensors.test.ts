import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readContent } from "../../../../test/support/ingest/decode.ts";
import { HONEYPOT_RECORDS } from "../../../../test/support/ingest/honeypot-records.ts";
import { MONITOR_RECORDS } from "../../../../test/support/ingest/monitor-records.ts";
import { LOG_FORMATS } from "../all.ts";
import type { DecodeOptions } from "../format.ts";

const RECORDS = [...HONEYPOT_RECORDS, ...MONITOR_RECORDS];
const textOf = (record: Record<string, unknown> | string) =>
  typeof record === "string" ? record : JSON.stringify(record);
const CRITERIA = { now: Date.parse("2026-11-20T14:00:00Z"), retentionDays: 100, right: "everything" } as const;

describe("a record of a sensor", () => {
  test.each(RECORDS)(
    "%s: %j becomes a valid observation, under its format's name and by itself",
    async (name, record, expected) => {
      const [named] = await readContent(textOf(record), name);
      expect(named?.value).toMatchObject(expected);
      expect(validateObservation(named?.value, CRITERIA)).toHaveProperty("observation");
      expect(await readContent(textOf(record))).toEqual([named]);
    },
  );

  test("has the same id however its JSON is written, and another when it says something else", async () => {
    const [first = ["", "", {}]] = RECORDS;
    const record = typeof first[1] === "string" ? {} : first[1];
    const turned = Object.fromEntries(Object.entries(record).reverse());
    const idOf = async (one: object) =>
      JSON.stringify((await readContent(JSON.stringify(one)))[0]?.value).match(/raw:[0-9a-f]{32}/)?.[0];
    expect(await idOf(turned)).toBe(await idOf(record));
    expect(await idOf({ ...record, session: "other" })).not.toBe(await idOf(record));
  });

  test("whatever its members are, is decoded or rejected, and never stops the records after it", async () => {
    const wild = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom("", -1, "45.1.1.1", ["x"], { x: 1 }, "__proto__"),
    );
    const objects = RECORDS.flatMap(([, record]) => (typeof record === "string" ? [] : [record]));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...objects),
        fc.nat(),
        wild,
        fc.constantFrom(...LOG_FORMATS.map(({ name }) => name), "auto"),
        async (record, place, value, name) => {
          const names = Object.keys(record);
          const changed = { ...record, [names[place % names.length] ?? ""]: value };
          const records = await readContent(`${JSON.stringify(changed)}\n`, name);
          for (const { value: observation } of records) {
            if (observation !== undefined) validateObservation(observation, CRITERIA);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

test.each(["__proto__", "constructor", "toString", "valueOf"])("an event or a log may be called %s", async (name) => {
  const eve = { event_type: name, flow_id: 77, timestamp: "2026-11-20T13:00:00Z", src_ip: "45.83.64.2", proto: "TCP" };
  const log = { _path: name, ts: 1_795_179_600, uid: "C1", "id.orig_h": "45.83.64.2", "id.resp_p": 22 };
  for (const record of [eve, log]) {
    expect((await readContent(JSON.stringify(record)))[0]?.value).toMatchObject({ source_ip: "45.83.64.2" });
  }
});

test("where a tunnel leads is not the port of the honeypot", async () => {
  const request = { eventid: "cowrie.direct-tcpip.request", src_ip: "45.83.64.1", src_port: 5555, session: "ab12" };
  const target = { dst_ip: "198.51.100.25", dst_port: 25, timestamp: "2026-11-20T13:00:02Z", sensor: "pot" };
  const [record] = await readContent(JSON.stringify({ ...request, ...target }));
  expect(record?.value).toMatchObject({ application: "ssh", labels: ["cowrie:direct-tcpip.request"] });
  expect(record?.value).not.toHaveProperty("destination_port");
  expect(record?.value).not.toHaveProperty("source_port");
});

describe("what is no scan is ignored", () => {
  const own: Partial<DecodeOptions> = { isOwnAddress: (address) => address === "198.51.100.7" };
  const flow = { timestamp: "2026-11-20T13:00:00+0000", flow_id: 1, proto: "TCP" };
  test.each([
    [
      "a request of the sensor itself",
      { ...flow, event_type: "http", src_ip: "198.51.100.7", src_port: 41000, dest_ip: "151.101.1.1", dest_port: 80 },
      "own-traffic",
    ],
    [
      "the file that a server sent it",
      {
        ...flow,
        event_type: "fileinfo",
        src_ip: "151.101.1.1",
        src_port: 80,
        dest_ip: "198.51.100.7",
        dest_port: 41000,
      },
      "own-traffic",
    ],
    [
      "an answer of its resolver",
      {
        ...flow,
        event_type: "dns",
        src_ip: "67.207.67.2",
        src_port: 53,
        dest_ip: "198.51.100.7",
        dest_port: 40000,
        dns: { type: "answer" },
      },
      "answer",
    ],
    ["statistics", { ...flow, event_type: "stats" }, "about-sensor"],
    [
      "a terminal's size",
      { eventid: "cowrie.client.size", src_ip: "45.83.64.1", timestamp: "2026-11-20T13:00:00Z" },
      "no-behaviour",
    ],
    [
      "a listening socket",
      {
        connection: { protocol: "smbd", transport: "tcp", type: "listen" },
        src_ip: "",
        timestamp: "2026-11-20T13:00:00",
      },
      "about-sensor",
    ],
  ])("%s", async (_what, record, reason) => {
    expect((await readContent(JSON.stringify(record), "auto", own)).map(({ ignored }) => ignored)).toEqual([reason]);
  });

  test("while an answer of an own service belongs to the source that it answers", async () => {
    const answer = {
      ...flow,
      event_type: "rdp",
      src_ip: "198.51.100.7",
      src_port: 3389,
      dest_ip: "45.83.64.1",
      dest_port: 1840,
    };
    const [record] = await readContent(JSON.stringify(answer), "auto", own);
    expect(record?.value).toMatchObject({ source_ip: "45.83.64.1", source_port: 1840, destination_port: 3389 });
  });
});

test("a file may mix formats; headers of text formats hold until another header comes", async () => {
  const content = [
    textOf(RECORDS[0]?.[1] ?? ""),
    "#separator \\x09",
    "#path\tconn",
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice",
    "1795179600.5\tC9\t45.83.64.20\t1\t198.51.100.7\t22\ttcp\t-",
    "datetime,host,src,proto,type,spt,dpt",
    "2026-11-20 13:00:00,h,1032051418,TCP,,6000,1433",
    "this is nothing",
    '{"what":"unknown"}',
    '{"cut',
  ].join("\n");
  const records = await readContent(content);
  expect(
    records.map(({ value, rejection, ignored }) => (value === undefined ? (rejection?.reason ?? ignored) : "ok")),
  ).toEqual(["ok", ...["header", "header", "header"], "ok", "header", "ok", "ok", "unknown-format", "not-json"]);
  expect(records[4]?.value).toMatchObject({ source_ip: "45.83.64.20", destination_port: 22, session_id: "C9" });
});

const JSON_RECORDS = RECORDS.filter(([, record]) => typeof record !== "string");

test.each(JSON_RECORDS)("%s: %j is rejected under the name of another format, not ignored", async (name, record) => {
  const content = textOf(record);
  for (const { name: other } of LOG_FORMATS) {
    if (other === name || other === "observations") continue;
    const [read] = await readContent(content, other);
    if (read?.rejection === undefined) {
      // T-Pot's records are those of its honeypots, with members of its own.
      expect([name, other]).toContain("tpot");
      continue;
    }
    expect(read.rejection).toEqual({
      reason: "unknown-format",
      detail: expect.stringMatching(new RegExp(`^the record is in the format \\S+, not in ${other}: name that format`)),
    });
  }
});
