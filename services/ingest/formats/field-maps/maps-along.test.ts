import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { describe, expect, test } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { formatOf, mapsAlong, readAs, readAuto } from "../../../../test/support/ingest/field-maps.ts";

const CRITERIA = { now: PLAIN.now(), retentionDays: 100, right: "everything" } as const;
const MAPS = mapsAlong();

const HEAD = "<134>Nov 20 13:00:00 gw filterlog[61233]: ";
const RULE = "5,,,1000000103,igb0,match";
const tcp = (flags: string, rule = "block,in") =>
  `${HEAD}${RULE},${rule},4,0x0,,240,54321,0,none,6,tcp,44,45.83.64.21,203.0.113.7,40000,23,0,${flags},1234,,1024,,mss`;
const icmp = (kind: string) => `${HEAD}${RULE},block,in,4,0x0,,50,1,0,none,1,icmp,84,45.83.64.21,203.0.113.7,${kind}`;

/** A line, the map that `auto` reads it with, and its observation or what else becomes of it. */
const LINES: readonly (readonly [line: string, format: string, expected: object | string])[] = [
  [
    "2026-11-20 12:28:38.252551,03fa,ac28,45.83.64.21,42191,10.0.0.5,21,ftp,example,pa ss,",
    "heralding-auth",
    {
      observed_at: "2026-11-20T12:28:38.252551Z",
      source_ip: "45.83.64.21",
      source_port: 42191,
      destination_port: 21,
      transport: "tcp",
      application: "ftp",
      session_id: "ac28",
      credentials: [{ username: "example", password: "pa ss" }],
      login_attempts: 1,
    },
  ],
  [
    "2026-11-20 12:28:38.252551,16,0841e3aa-241b-4da0-b85e-e5a5524cc836,45.83.64.21,53161,,23,telnet,3",
    "heralding-session",
    {
      ...{ destination_port: 23, application: "telnet", session_id: "0841e3aa-241b-4da0-b85e-e5a5524cc836" },
      established: true,
    },
  ],
  [
    "2026-11-20T12:44:14.590Z ACCEPT host=::ffff:45.83.64.21 port=47532 fd=4 n=1/4096",
    "endlessh",
    {
      observed_at: "2026-11-20T12:44:14.590Z",
      source_ip: "45.83.64.21",
      source_port: 47532,
      transport: "tcp",
      established: true,
      application: "ssh",
    },
  ],
  ["2026-11-20T12:44:16.092Z CLOSE host=45.83.64.21 port=47532 fd=4 time=1.502 bytes=92", "endlessh", "no-behaviour"],
  ["2026-11-20T12:44:13.865Z MaxLineLength 32", "endlessh", "about-sensor"],
  ["2026-11-20T12:44:17.867Z TOTALS connects=1 seconds=1.502 bytes=92", "endlessh", "about-sensor"],
  [
    "Nov  9 12:44:14 tarpit endlessh[7]: 2026-11-09T12:44:14.590Z ACCEPT host=45.83.64.21 port=47532 fd=4 n=1/4096",
    "endlessh",
    { sensor_id: "tarpit", observed_at: "2026-11-09T12:44:14.590Z" },
  ],
  [
    "Nov  9 12:44:14 tarpit endlessh[7]: ACCEPT host=45.83.64.21 port=47532 fd=4 n=1/4096",
    "endlessh",
    { sensor_id: "tarpit", observed_at: "2026-11-09T12:44:14Z" },
  ],
  [
    "I1120 12:44:14.590123       1 client.go:99] ACCEPT host=45.83.64.21 port=47532 n=1/4096",
    "endlessh",
    { observed_at: "2026-11-20T12:44:14.590123Z", source_ip: "45.83.64.21", source_port: 47532 },
  ],
  [
    "I1120 12:45:14.590123       1 client.go:99] CLOSE host=45.83.64.21 port=47532 time=60.1 bytes=9",
    "endlessh",
    "no-behaviour",
  ],
  [
    tcp("S"),
    "filterlog",
    {
      observed_at: "2026-11-20T13:00:00Z",
      sensor_id: "gw",
      source_ip: "45.83.64.21",
      source_port: 40000,
      destination_port: 23,
      transport: "tcp",
    },
  ],
  [tcp("SEW"), "filterlog", { destination_port: 23 }],
  [tcp("FPU"), "filterlog", { destination_port: 23 }],
  [tcp("SA"), "filterlog", "answer"],
  [tcp("RA"), "filterlog", "answer"],
  [tcp("FA"), "filterlog", "answer"],
  [tcp("S", "pass,in"), "filterlog", "accepted-visit"],
  [tcp("S", "block,out"), "filterlog", "own-traffic"],
  [tcp("S", "pass,out"), "filterlog", "own-traffic"],
  [
    `<134>1 2026-11-20T14:00:00+01:00 OPNsense.localdomain filterlog 61233 - [meta sequenceId="1"] ${RULE},block,in,4,0x0,,240,54321,0,none,17,udp,78,45.83.64.21,203.0.113.7,40000,123,58`,
    "filterlog",
    {
      observed_at: "2026-11-20T14:00:00+01:00",
      sensor_id: "OPNsense.localdomain",
      destination_port: 123,
      transport: "udp",
    },
  ],
  [`Nov 20 13:00:00 filterlog: ${tcp("S").slice(HEAD.length)}`, "filterlog", { sensor_id: "filterlog" }],
  [icmp("request,12345,0"), "filterlog", { transport: "icmp" }],
  [icmp("datalength=64"), "filterlog", { transport: "icmp" }],
  [icmp("reply,12345,0"), "filterlog", "answer"],
  [icmp("unreachport,45.83.64.21,17,53"), "filterlog", "icmp-error"],
  [icmp("timexceed,"), "filterlog", "icmp-error"],
  [
    `${HEAD}${RULE},block,in,6,0x00,0x00000,64,tcp,6,40,2001:db8::1,2001:db8::2,40000,23,0,S,1,,1024,,mss`,
    "filterlog",
    "source-not-routable",
  ],
  [
    '45.83.64.21 - - [20/Nov/2026:14:00:00 +0100] "GET /.env?a=\\x22b HTTP/1.1" 404 153 "-" "Mozilla/5.0 zgrab/0.x"',
    "access-log",
    {
      observed_at: "2026-11-20T14:00:00+01:00",
      application: "http",
      http: { method: "GET", path: "/.env", query: 'a="b', user_agent: "Mozilla/5.0 zgrab/0.x" },
    },
  ],
  [
    '45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "GET / HTTP/1.0" 200 -',
    "access-log",
    { http: { method: "GET", path: "/" } },
  ],
  [
    'www.example.org:80 45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "POST /a b HTTP/1.1" 400 0 "http://x/?\\"" "a\\\\b"',
    "access-log",
    { http: { host: "www.example.org", path: "/a b", referer: 'http://x/?"', user_agent: "a\\b" } },
  ],
  [
    'cafe.de 45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "GET /solr HTTP/1.1" 200 2 "-" "x"',
    "access-log",
    { source_ip: "45.83.64.21", http: { host: "cafe.de", path: "/solr" } },
  ],
  [
    '203.0.113.7:8080 45.83.64.21 - a [b] \\x22c [20/Nov/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 2 "-" "x"',
    "access-log",
    { source_ip: "45.83.64.21", http: { host: "203.0.113.7", path: "/" } },
  ],
  [
    '[2001:db8::7]:80 2001:db8::1 - - [20/Nov/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 2 "-" "x"',
    "access-log",
    "source-not-routable",
  ],
  [
    '45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "OPTIONS sip:nm SIP/2.0" 400 157 "-" "-"',
    "access-log",
    { application: "sip", http: { method: "OPTIONS", path: "sip:nm" } },
  ],
  [
    'cafe.de:18081 45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "OPTIONS / RTSP/1.0" 400 157 "-" "-"',
    "access-log",
    { application: "rtsp", http: { method: "OPTIONS", path: "/" } },
  ],
  [
    '45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "\\x16\\x03\\x01\\x00\\xEE" 400 150 "-" "-"',
    "access-log",
    { source_ip: "45.83.64.21", transport: "tcp" },
  ],
  ['45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "-" 408 - "-" "-"', "access-log", { source_ip: "45.83.64.21" }],
  [
    // A visitor may claim to be any user, also where no password is asked for.
    '45.83.64.21 - admin [20/Nov/2026:13:00:00 +0000] "GET /cgi-bin/luci HTTP/1.1" 200 612 "-" "curl/7.88.1"',
    "access-log",
    { http: { path: "/cgi-bin/luci" } },
  ],
  [
    '::1 - - [20/Nov/2026:13:00:00 +0000] "OPTIONS * HTTP/1.0" 200 126 "-" "Apache/2.4.62 (Debian) (internal dummy connection)"',
    "access-log",
    "about-sensor",
  ],
];

describe("a line of a program that a map comes along for", () => {
  test.each(LINES)("%s is read by auto as %s: %j", async (line, format, expected) => {
    const [record] = await readAuto(line, MAPS);
    expect(record?.format).toBe(format);
    const validated = record?.value === undefined ? undefined : validateObservation(record.value, CRITERIA);
    if (typeof expected === "string") {
      const reason = validated !== undefined && "reason" in validated ? validated.reason : record?.rejection?.reason;
      expect(record?.ignored ?? reason).toBe(expected);
      return;
    }
    expect(record?.value).toMatchObject(expected);
    expect(validated).toHaveProperty("observation");
    expect(
      await readAs(
        line,
        MAPS.filter(({ name }) => name === format),
      ),
    ).toEqual([record]);
  });

  test("an IPv6 packet of filterlog says that IPv6 is not supported", async () => {
    const line = LINES.find(([text]) => text.includes("2001:db8::1"))?.[0] ?? "";
    const [record] = await readAuto(line, MAPS);
    expect(validateObservation(record?.value, CRITERIA)).toMatchObject({ detail: expect.stringContaining("IPv6") });
  });

  test("lines of other programs in a firewall's system log are ignored, and torn ones of filterlog are dead letters", async () => {
    const content = [
      "<38>Nov 20 13:00:00 gw sshd[7]: Connection from 45.83.64.21 port 5",
      "<38>1 2026-11-20T13:00:00Z gw dhcpd 7 - - DHCPREQUEST for 10.0.0.9",
      tcp("S").slice(0, 90),
      "filterlog",
    ];
    const records = await readAs(
      content.join("\n"),
      MAPS.filter(({ name }) => name === "filterlog"),
    );
    expect(records.map(({ ignored, rejection }) => ignored ?? rejection?.reason)).toEqual([
      "other-program",
      "other-program",
      "unknown-format",
      "unknown-format",
    ]);
  });

  test("the port after an access log's virtual host is not the one that was visited, for Apache writes its ServerName's", async () => {
    const request = '45.83.64.21 - - [20/Nov/2026:13:00:00 +0000] "GET / HTTP/1.1" 403 481 "-" "-"';
    const [record] = await readAuto(`www.example.org:80 ${request}`, MAPS);
    expect(record?.value).toHaveProperty("http.host", "www.example.org");
    expect(record?.value).not.toHaveProperty("destination_port");
  });

  test("packets that filterlog let in count when the setting says so", async () => {
    const [record] = await readAuto(tcp("S", "pass,in"), MAPS, { countsAccepted: true });
    expect(record?.value).toMatchObject({ destination_port: 23 });
  });

  test("Heralding's older file without hashes, and one in which the header comes twice, lose no line", async () => {
    const header =
      "timestamp,auth_id,session_id,source_ip,source_port,destination_ip,destination_port,protocol,username,password";
    const line = "2026-11-20 12:28:38.252551,03fa,ac28,45.83.64.21,42191,10.0.0.5,21,ftp,root,x";
    const records = await readAuto([header, line, header, line].join("\n"), MAPS);
    expect(records.map(({ format, ignored }) => `${format} ${ignored}`)).toEqual([
      "heralding-auth header",
      "heralding-auth undefined",
      "heralding-auth header",
      "heralding-auth undefined",
    ]);
  });

  test("a map reads no line of another, and none of a format that is built in", () => {
    for (const [line, name] of LINES) {
      expect(MAPS.filter(({ text }) => text?.recognizes(line)).map((map) => map.name)).toEqual([name]);
    }
    expect(MAPS.every(({ json }) => json === undefined)).toBe(true);
    expect(MAPS.some(({ text }) => text?.recognizes("Nov 20 13:00:00 gw sshd[1]: Connection from 45.83.64.21"))).toBe(
      false,
    );
  });

  test("a map's descriptions are there for the list", () => {
    for (const { description } of MAPS)
      expect(description).not.toBe(formatOf("name: x\nfields: {source_ip: a}").description);
  });
});
