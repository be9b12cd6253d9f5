import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { formatOf, problemsOf, readAs, readAuto } from "../../../../test/support/ingest/field-maps.ts";

const CRITERIA = { now: PLAIN.now(), retentionDays: 100, right: "everything" } as const;

const DOORBELL = `
name: doorbell
recognize: {product: doorbell}
fields:
  observed_at: when
  source_ip: [peer.address, peer.ip]
  destination_port: local.port
  username: user
constants: {transport: tcp, application: telnet}`;
const RING = {
  product: "doorbell",
  when: 1795179600,
  peer: { ip: "45.83.64.21" },
  local: { port: "23" },
  user: "root",
};

const KNOCKS = `
name: knocks
pattern:
  - '^(?P<time>\\S+) knock from (?P<ip>\\S+) on (?P<port>\\d+)(?: as (?P<user>\\S+))?$'
  - '^(?P<time>\\S+) (?P<event>started|stopped)$'
ignore:
  - {reason: about-sensor, when: {event: [started, stopped]}}
  - {reason: other-program, when: {line: {matches: 'cron\\['}}}
fields: {observed_at: time, source_ip: ip, destination_port: port, username: user}
constants: {transport: tcp}`;

describe("a field map of JSON", () => {
  test("makes a format of any JSON", async () => {
    const [ring, other] = await readAuto(`${JSON.stringify(RING)}\n{"product":"other"}`, [formatOf(DOORBELL)]);
    expect(ring?.format).toBe("doorbell");
    expect(ring?.value).toMatchObject({
      observed_at: "2026-11-20T13:00:00.000Z",
      sensor_id: "doorbell",
      source_ip: "45.83.64.21",
      destination_port: 23,
      application: "telnet",
      login_attempts: 1,
    });
    expect(other?.rejection?.reason).toBe("unknown-format");
  });

  test.each<[value: unknown, established: boolean | undefined]>([
    [true, true],
    ["True", true],
    [1, true],
    ["0", false],
    [false, false],
    ["perhaps", undefined],
    [undefined, undefined],
  ])("reads %j as established: %j, and a constant where it says neither", async (value, established) => {
    const map = "name: x\nfields: {observed_at: t, source_ip: a, established: contact}";
    const record = JSON.stringify({ t: RING.when, a: RING.peer.ip, contact: value });
    const [plain] = await readAs(record, [formatOf(map)]);
    const [withConstant] = await readAs(record, [formatOf(`${map}\nconstants: {established: true}`)]);
    expect([plain?.value, withConstant?.value]).toMatchObject([
      established === undefined ? expect.not.objectContaining({ established: expect.anything() }) : { established },
      { established: established ?? true },
    ]);
  });

  test.each([
    ["6", "tcp"],
    ["1", "icmp"],
    ["17", "udp"],
    ["132", "sctp"],
    ["UDP", "udp"],
  ])("reads the protocol %s as %s", async (proto, transport) => {
    const format = formatOf("name: x\nfields: {observed_at: t, source_ip: a, transport: ip.protocol}");
    for (const value of [proto, Number.isNaN(Number(proto)) ? proto : Number(proto)]) {
      const record = { t: "2026-11-20T13:00:00Z", a: "45.83.64.21", "ip.protocol": value };
      expect((await readAs(JSON.stringify(record), [format]))[0]?.value).toMatchObject({ transport });
    }
  });

  test("takes the port that stands after an address, and ignores an own address in any spelling", async () => {
    const format = formatOf("name: x\nfields: {observed_at: t, source_ip: a}");
    const records = ["45.83.64.21:51234", "::ffff:9.9.9.9"].map((a) =>
      JSON.stringify({ t: "2026-11-20T13:00:00Z", a }),
    );
    const [peer, own] = await readAs(records.join("\n"), [format], {
      isOwnAddress: (address) => address === "9.9.9.9",
    });
    expect(peer?.value).toMatchObject({ source_ip: "45.83.64.21", source_port: 51234 });
    expect(own?.ignored).toBe("own-traffic");
  });

  test.each([
    ["a value", "{product: doorbell}"],
    ["one of several values", "{product: [gate, doorbell]}"],
    ["a pattern", "{product: {matches: '^door'}}"],
    ["a member that is there", "{peer.ip: {exists: true}}"],
    ["a member that is missing", "{gate: {exists: false}, product: doorbell}"],
    ["a number, also as text", "{local.port: 23}"],
  ])("is recognised by %s", async (_what, recognize) => {
    const format = formatOf(`name: x\nrecognize: ${recognize}\nfields: {source_ip: peer.ip}`);
    expect(format.json?.recognizes(RING)).toBe(true);
    expect(format.json?.recognizes({ product: "window", gate: 1, local: { port: 24 } })).toBe(false);
  });

  test("ignores records by its conditions, but accepted visitors only while they do not count", async () => {
    const format = formatOf(
      `${DOORBELL}\nignore: [{reason: accepted-visit, when: {let_in: true}}, {reason: own-traffic, when: {way: out}}]`,
    );
    const content = [{ ...RING, let_in: true }, { ...RING, way: "out" }, RING].map((r) => JSON.stringify(r)).join("\n");
    const outcomes = async (countsAccepted: boolean) =>
      (await readAs(content, [format], { countsAccepted })).map(({ ignored }) => ignored ?? "observation");
    expect(await outcomes(false)).toEqual(["accepted-visit", "own-traffic", "observation"]);
    expect(await outcomes(true)).toEqual(["observation", "own-traffic", "observation"]);
  });
});

describe("a field map of text lines", () => {
  test("reads lines by the first pattern that matches, and counts every line", async () => {
    const content = [
      "2026-11-20T13:00:00Z knock from 45.83.64.21 on 2222 as root",
      "2026-11-20T13:00:01Z knock from 45.83.64.21 on 23",
      "2026-11-20T13:00:02Z stopped",
      "Nov 20 13:00:03 host cron[1]: run",
      "2026-11-20T13:00:04Z knock knock",
    ].join("\n");
    const records = await readAs(content, [formatOf(KNOCKS)], { publicPort: (port) => (port === 2222 ? 22 : port) });
    expect(records.map(({ ignored, rejection }) => ignored ?? rejection?.reason ?? "observation")).toEqual([
      "observation",
      "observation",
      "about-sensor",
      "other-program",
      "unknown-format",
    ]);
    expect(records[0]?.value).toMatchObject({
      observed_at: "2026-11-20T13:00:00Z",
      sensor_id: "knocks",
      source_ip: "45.83.64.21",
      destination_port: 22,
      credentials: [{ username: "root" }],
      login_attempts: 1,
    });
    expect(records[1]?.value).not.toHaveProperty("credentials");
    expect(records[4]?.rejection?.detail).toContain(
      "none of the 2 patterns of the field map knocks; the first is ^(?P<time>",
    );
    for (const { value } of records.slice(0, 2))
      expect(validateObservation(value, CRITERIA)).toHaveProperty("observation");
  });

  test("leaves to auto the lines that it does not match, and takes those that it does", async () => {
    const packet =
      "Nov 20 13:00:00 fw kernel: IN=eth0 OUT= SRC=45.83.64.21 DST=9.9.9.9 LEN=44 PROTO=TCP SPT=1 DPT=23 SYN";
    const knock = "2026-11-20T13:00:00Z knock from 45.83.64.21 on 2222";
    const records = await readAuto([packet, knock, packet, '{"product":1}'].join("\n"), [formatOf(KNOCKS)]);
    expect(records.map(({ format }) => format)).toEqual(["netfilter", "knocks", "netfilter", undefined]);
  });

  test("lines that differ are different records, and equal ones are the same", async () => {
    const format = formatOf("name: x\npattern: '^(?P<ip>[0-9.]+) '\nfields: {source_ip: ip}");
    const records = await readAs("45.83.64.21 id=1\n45.83.64.21 id=2\n45.83.64.21 id=1", [format]);
    const ids = records.map(({ value }) => JSON.stringify(value).match(/raw:[0-9a-f]+/)?.[0]);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toBe(ids[2]);
  });

  test("a longer line than patterns read is a dead letter, and takes no time whatever it holds", async () => {
    const format = formatOf(
      "name: x\npattern: ['^(?P<ip>(?:a+)+)(?P<b>(?:a|aa)+)$', '(?P<c>.*a.*b.*c.*d)$']\nfields: {source_ip: ip}",
    );
    const before = process.cpuUsage();
    const [long, short] = await readAs(`${"a".repeat(1024 * 1024 - 1)}\n${"a".repeat(30_000)}b`, [format]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
    expect(long?.rejection).toMatchObject({ reason: "oversize" });
    expect(short?.rejection).toMatchObject({ reason: "unknown-format" });
  });

  test("turns back what a web server has escaped, whatever the escapes are", () => {
    const format = formatOf(
      "name: x\nescaped: true\npattern: '^(?P<ip>\\S+) (?P<agent>.*)$'\nfields: {source_ip: ip, http_target: agent}",
    );
    const targetOf = (text: string) => {
      const decoded = format.text?.open()(`45.83.64.21 ${text}`, PLAIN) ?? { ignored: "header" };
      return JSON.stringify("observation" in decoded ? decoded.observation.http : decoded);
    };
    expect(targetOf(String.raw`/\x22\xD0\x9F\"\\x22`)).toBe(JSON.stringify({ path: '/"П"\\x22' }));
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\\", "x", "2", "n", '"', "é") }), (text) => void targetOf(text)),
    );
  });
});

describe("a field map of CSV", () => {
  const MAP = `
name: gate
csv: {columns: [at, from, user, note]}
recognize: {at: {matches: '^2026-'}}
fields: {observed_at: at, source_ip: from, username: user}`;
  const outcomes = async (content: string, map = MAP) =>
    (await readAs(content, [formatOf(map)])).map(
      ({ ignored, rejection, value }) => ignored ?? rejection?.reason ?? value,
    );

  test("reads lines without a header, headers again and again, other orders of columns, and quoted fields", async () => {
    const content = [
      '2026-11-20 13:00:00,45.83.64.21,"ro,""ot",x',
      "at,from,user,note",
      "2026-11-20 13:00:01,45.83.64.22,admin,",
      "from,at,user",
      "45.83.64.23,2026-11-20 13:00:02,guest",
    ].join("\r\n");
    expect(await outcomes(content)).toMatchObject([
      { source_ip: "45.83.64.21", credentials: [{ username: 'ro,"ot' }] },
      "header",
      { source_ip: "45.83.64.22", credentials: [{ username: "admin" }] },
      "header",
      { source_ip: "45.83.64.23", observed_at: "2026-11-20T13:00:02Z" },
    ]);
  });

  test("a quote that is not closed costs its own line, and no field of it is read as something else", async () => {
    const torn = '2026-11-20 13:00:01,45.83.64.22,"admin,x';
    const content = ["2026-11-20 13:00:00,45.83.64.21,root,x", torn, "2026-11-20 13:00:02,45.83.64.23,root,x"];
    expect(await outcomes(content.join("\n"))).toMatchObject([
      { source_ip: "45.83.64.21" },
      "unknown-format",
      { source_ip: "45.83.64.23" },
    ]);
  });

  test("a line with more or fewer columns, and one that needs a header which never came, are dead letters", async () => {
    expect(await outcomes("2026-11-20 13:00:00,45.83.64.21\n1,2,3,4,5")).toEqual(["unknown-format", "unknown-format"]);
    const headed = MAP.replace("columns: [at, from, user, note]", "delimiter: ';'");
    const content = "2026-11-20;45.83.64.21;x\nat;from;user\n2026-11-20 13:00:00;45.83.64.21;x";
    expect(await outcomes(content, headed)).toMatchObject(["unknown-format", "header", { source_ip: "45.83.64.21" }]);
    const [first] = await readAs(content, [formatOf(headed)]);
    expect(first?.rejection?.detail).toContain("no header");
  });

  test("what a source writes into its columns is never taken for a header", async () => {
    const content = "2026-11-20 13:00:00,45.83.64.21,at,from\n2026-11-20 13:00:01,45.83.64.22,from,at";
    expect(await outcomes(content)).toMatchObject([{ source_ip: "45.83.64.21" }, { source_ip: "45.83.64.22" }]);
  });

  test("auto reads it by its header or by its signs, and takes no other lines", async () => {
    const read = async (content: string) => (await readAuto(content, [formatOf(MAP)])).map(({ format }) => format);
    expect(await read("2026-11-20 13:00:00,45.83.64.21,x,y")).toEqual(["gate"]);
    expect(await read("user,at,from\nx,2026-11-20 13:00:00,45.83.64.21")).toEqual(["gate", "gate"]);
    expect(await read("a,b,c,d")).toEqual([undefined]);
  });
});

describe("a faulty field map", () => {
  test("has all its errors listed in one run", () => {
    expect(problemsOf("name: X\nfields: {sensor_id: s, nonsense: n}\nignore: [{reason: boring, when: {}}]")).toEqual([
      expect.stringMatching(/^name: takes lower-case letters/),
      expect.stringMatching(/^ignore\.0\.reason: /),
      expect.stringMatching(/^fields/),
    ]);
    expect(
      problemsOf(`
name: x
pattern: ['(?P<ip>\\S+', '(?P<line>x)']
csv: {}
recognize: {a: {matches: '('}}
ignore: [{reason: answer, when: {}}]
fields: {sensor_id: host}`),
    ).toEqual([
      "fields.source_ip: is required",
      expect.stringContaining("either a pattern or csv"),
      expect.stringMatching(/^recognize\.a: the pattern is not a regular expression of RE2: missing closing \)/),
      "ignore.0.when: needs a condition",
      expect.stringMatching(/^pattern: .* is not a regular expression of RE2/),
      expect.stringContaining('"line" is the whole line'),
    ]);
  });

  test("is told of groups and columns that are not there, of lookaheads, and of large patterns", () => {
    expect(problemsOf("name: x\npattern: '^(?P<ip>\\S+)'\nfields: {source_ip: addr}\nrecognize: {kind: a}")).toEqual([
      "fields.source_ip: no pattern has a group addr",
      "recognize: no pattern has a group kind",
    ]);
    expect(problemsOf("name: x\ncsv: {columns: [a]}\nfields: {source_ip: b}")).toEqual([
      "fields.source_ip: csv.columns has no b",
    ]);
    expect(problemsOf("name: x\npattern: '(?=x)(?P<ip>y)'\nfields: {source_ip: ip}")[0]).toContain("RE2");
    expect(problemsOf("name: x\npattern: '(?P<ip>(?:a{30}){30})'\nfields: {source_ip: ip}")[0]).toContain("too large");
    expect(problemsOf("name: x\nfields: {source_ip: [")[0]).toBeDefined();
  });
});
