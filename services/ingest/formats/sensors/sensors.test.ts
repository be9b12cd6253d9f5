import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PLAIN, readContent } from "../../testing/decode.ts";
import { LOG_FORMATS } from "../all.ts";
import { fieldMapFormat, fieldMapSchema } from "../field-map.ts";
import type { DecodeOptions } from "../format.ts";

/** A record of each format, and what its observation must say. */
const RECORDS: readonly (readonly [format: string, record: Record<string, unknown> | string, expected: object])[] = [
  [
    "cowrie",
    {
      eventid: "cowrie.session.connect",
      src_ip: "45.83.64.1",
      src_port: 4711,
      dst_ip: "172.20.0.2",
      dst_port: 22,
      session: "ab12",
      protocol: "ssh",
      sensor: "pot",
      timestamp: "2026-11-20T13:00:00.123456Z",
    },
    {
      observed_at: "2026-11-20T13:00:00.123456Z",
      sensor_id: "pot",
      source_ip: "45.83.64.1",
      source_port: 4711,
      destination_port: 22,
      transport: "tcp",
      application: "ssh",
      session_id: "ab12",
    },
  ],
  [
    "cowrie",
    {
      eventid: "cowrie.client.version",
      version: "b'SSH-2.0-Go'",
      src_ip: "45.83.64.1",
      session: "ab12",
      sensor: "pot",
      timestamp: "2026-11-20T13:00:00Z",
    },
    { ssh: { banner: "SSH-2.0-Go" }, application: "ssh" },
  ],
  [
    "cowrie",
    {
      eventid: "cowrie.login.success",
      username: "root",
      password: "",
      src_ip: "45.83.64.1",
      session: "ab12",
      sensor: "pot",
      timestamp: "2026-11-20T13:00:01Z",
    },
    { credentials: [{ username: "root" }], login_attempts: 1, labels: ["cowrie:login.success"] },
  ],
  [
    "cowrie",
    {
      eventid: "cowrie.direct-tcpip.request",
      dst_ip: "mail.example",
      dst_port: 25,
      src_ip: "45.83.64.1",
      session: "ab12",
      sensor: "pot",
      timestamp: "2026-11-20T13:00:02Z",
    },
    { labels: ["cowrie:direct-tcpip.request"], application: "ssh" },
  ],
  [
    "suricata-eve",
    {
      timestamp: "2026-11-20T13:00:00.5+0000",
      flow_id: 77,
      event_type: "http",
      src_ip: "45.83.64.2",
      src_port: 40000,
      dest_ip: "198.51.100.7",
      dest_port: 8080,
      proto: "TCP",
      tx_id: 1,
      http: { hostname: "x", url: "/a?b=1", http_user_agent: "curl/8", http_method: "GET" },
    },
    {
      observed_at: "2026-11-20T13:00:00.5+00:00",
      session_id: "77/1",
      application: "http",
      destination_port: 8080,
      http: { method: "GET", host: "x", path: "/a", query: "b=1", user_agent: "curl/8" },
    },
  ],
  [
    "suricata-eve",
    {
      timestamp: "2026-11-20T13:00:00+0000",
      flow_id: 78,
      event_type: "alert",
      src_ip: "45.83.64.2",
      src_port: 1,
      dest_ip: "198.51.100.7",
      dest_port: 80,
      proto: "TCP",
      alert: {
        signature: "ET SCAN x",
        category: "Web Application Attack",
        severity: 1,
        metadata: { cve: ["CVE_2021_44228"] },
      },
    },
    {
      session_id: "78",
      labels: [
        "suricata:ET SCAN x",
        "suricata-class:Web Application Attack",
        "suricata-severity:1",
        "cve:CVE-2021-44228",
      ],
    },
  ],
  [
    "zeek",
    {
      ts: 1795179600.25,
      uid: "C1",
      "id.orig_h": "45.83.64.3",
      "id.orig_p": 5,
      "id.resp_h": "198.51.100.7",
      "id.resp_p": 443,
      proto: "tcp",
      service: "ssl",
      conn_state: "SF",
    },
    {
      observed_at: "2026-11-20T13:00:00.250Z",
      session_id: "C1",
      application: "tls",
      destination_port: 443,
      labels: ["zeek-state:SF"],
    },
  ],
  [
    "zeek",
    {
      ts: "2026-11-20T13:00:00.217697024",
      uid: "C2",
      "id.orig_h": "45.83.64.3",
      "id.orig_p": 5,
      "id.resp_h": "198.51.100.7",
      "id.resp_p": 80,
      trans_depth: 3,
      method: "POST",
      host: "h",
      uri: "/x",
      user_agent: "ua",
    },
    {
      observed_at: "2026-11-20T13:00:00.217697024Z",
      session_id: "C2/2",
      application: "http",
      http: { method: "POST", host: "h", path: "/x", user_agent: "ua" },
    },
  ],
  [
    "dionaea",
    {
      connection: { protocol: "mssqld", transport: "tcp", type: "accept" },
      dst_port: 1433,
      src_ip: "::ffff:45.83.64.4",
      src_port: 9,
      timestamp: "2026-11-20T13:00:00.1",
      credentials: { username: ["sa"], password: ["p"] },
    },
    {
      source_ip: "45.83.64.4",
      application: "mssql",
      destination_port: 1433,
      credentials: [{ username: "sa", password: "p" }],
      login_attempts: 1,
    },
  ],
  [
    "heralding",
    {
      timestamp: "2026-11-20 13:00:00.5",
      session_id: "u-1",
      source_ip: "45.83.64.5",
      source_port: 1,
      destination_port: 5900,
      protocol: "vnc",
      num_auth_attempts: 2,
      auth_attempts: [
        { username: null, password: null },
        { username: "a", password: "b" },
      ],
    },
    {
      observed_at: "2026-11-20T13:00:00.5Z",
      application: "vnc",
      login_attempts: 2,
      credentials: [{ username: "a", password: "b" }],
      session_id: "u-1",
    },
  ],
  [
    "honeytrap",
    {
      start_time: "2026-11-20T13:00:00Z",
      attack_connection: {
        protocol: "tcp",
        remote_ip: "45.83.64.6",
        remote_port: 3,
        local_port: 3388,
        payload: { data_hex: "0300002a25e00000000000436f6f6b69653a" },
      },
    },
    { application: "rdp", destination_port: 3388, transport: "tcp" },
  ],
  [
    "opencanary",
    {
      dst_port: "80",
      local_time: "2026-11-20 13:00:00.1",
      utc_time: "2026-11-20 13:00:00.2",
      logdata: { PATH: "/i?x=1", USERAGENT: "ua", USERNAME: "u", PASSWORD: "p" },
      logtype: 3001,
      node_id: "canary",
      src_host: "45.83.64.7",
      src_port: -1,
    },
    {
      observed_at: "2026-11-20T13:00:00.2Z",
      sensor_id: "canary",
      destination_port: 80,
      application: "http",
      labels: ["opencanary:3001"],
      http: { method: "POST", path: "/i", query: "x=1", user_agent: "ua" },
    },
  ],
  [
    "dshield",
    {
      time: "2026-11-20T13:00:00.123456",
      headers: { host: "1.2.3.4:8080", cookie: "sid=1; x=2" },
      sip: "45.83.64.8",
      method: "GET",
      url: "/.env",
      useragent: "ua",
      data: "",
    },
    {
      destination_port: 8080,
      http: {
        method: "GET",
        host: "1.2.3.4:8080",
        path: "/.env",
        user_agent: "ua",
        headers: ["host", "cookie"],
        cookies: ["sid", "x"],
      },
    },
  ],
  [
    "netfilter",
    "1795179600 fw kernel: [1.2] DSHIELDINPUT IN=eth0 OUT= SRC=45.83.64.9 DST=198.51.100.7 LEN=40 PROTO=TCP SPT=5 DPT=23 WINDOW=1",
    {
      observed_at: "2026-11-20T13:00:00.000Z",
      sensor_id: "fw",
      transport: "tcp",
      source_port: 5,
      destination_port: 23,
    },
  ],
  [
    "docker-api-honeypot",
    {
      view_args: {},
      url: "http://198.51.100.7:2375/v1.24/containers/create?name=x",
      headers: [["User-Agent", "Go"]],
      method: "POST",
      source: "45.83.64.10",
      data: Buffer.from("{}").toString("base64"),
      _hour: "2026-11-20T13:00:00Z",
      _port: 2375,
    },
    {
      destination_port: 2375,
      http: {
        method: "POST",
        path: "/v1.24/containers/create",
        query: "name=x",
        user_agent: "Go",
        headers: ["user-agent"],
        body: "{}",
      },
    },
  ],
  [
    "hpfeeds",
    {
      channel: "cowrie.sessions",
      ident: "id-1",
      payload: JSON.stringify({
        session: "s1",
        startTime: "2026-11-20T13:00:00Z",
        peerIP: "45.83.64.11",
        peerPort: 4,
        hostPort: 22,
        loggedin: ["root", "x"],
        credentials: [["a", "b"]],
        commands: ["id"],
        urls: [],
        version: "SSH-2.0-Go",
        protocol: "ssh",
      }),
    },
    {
      sensor_id: "id-1",
      session_id: "s1",
      login_attempts: 2,
      credentials: [
        { username: "a", password: "b" },
        { username: "root", password: "x" },
      ],
      commands: ["id"],
    },
  ],
  [
    "ecs",
    {
      "@timestamp": "2026-11-20T13:00:00Z",
      source: { ip: "45.83.64.12", port: 5, as: { number: 64500 }, geo: { country_iso_code: "NL" } },
      destination: { port: 80 },
      network: { transport: "TCP", protocol: "http" },
      url: { path: "/p", query: "q=1" },
      user_agent: { original: "ua" },
      rule: { name: "r" },
      tags: ["forwarded", "mine"],
      observer: { name: "obs" },
    },
    {
      sensor_id: "obs",
      transport: "tcp",
      asn: "64500",
      country: "NL",
      labels: ["rule:r", "mine"],
      http: { path: "/p", query: "q=1", user_agent: "ua" },
    },
  ],
  [
    "tpot",
    {
      type: "Suricata",
      "@timestamp": "2026-11-20T13:00:00Z",
      flow_id: 5,
      event_type: "alert",
      src_ip: "198.51.100.7",
      src_port: 445,
      dest_ip: "45.83.64.13",
      dest_port: 50000,
      "t-pot_ip_ext": "198.51.100.7",
      "t-pot_hostname": "hive-1",
      alert: { signature: "ET EXPLOIT y", severity: 2, cve_id: "CVE-2017-0144 CVE-2017-0145" },
      geoip: { country_code2: "VN", asn: 18403 },
      ip_rep: "known attacker",
    },
    {
      sensor_id: "hive-1",
      source_ip: "45.83.64.13",
      destination_port: 445,
      country: "VN",
      asn: "18403",
      labels: [
        "suricata:ET EXPLOIT y",
        "suricata-severity:2",
        "cve:CVE-2017-0144",
        "cve:CVE-2017-0145",
        "ip-rep:known attacker",
      ],
    },
  ],
  [
    "tpot",
    {
      type: "Tanner",
      "@timestamp": "2026-11-20T13:00:00Z",
      src_ip: "45.83.64.14",
      src_port: 5,
      dest_port: 80,
      method: "GET",
      path: "/shell?cd+/tmp",
      headers: { "user-agent": "Hello, World", host: "h" },
      "t-pot_hostname": "hive-1",
    },
    {
      sensor_id: "hive-1",
      application: "http",
      http: { path: "/shell", query: "cd+/tmp", user_agent: "Hello, World" },
      labels: ["tpot:Tanner"],
    },
  ],
  [
    "tpot",
    {
      type: "Adbhoney",
      "@timestamp": "2026-11-20T13:00:00Z",
      eventid: "adbhoney.command.input",
      input: "chmod 777 x",
      src_ip: "45.83.64.15",
      dest_port: "5555",
      session: "z",
      "t-pot_hostname": "hive-1",
    },
    { application: "adb", commands: ["chmod 777 x"], session_id: "z", destination_port: 5555 },
  ],
  [
    "observations",
    { observed_at: "2026-11-20T13:00:00Z", sensor_id: "own", source_ip: "45.83.64.16", labels: ["x"] },
    { sensor_id: "own", labels: ["x"] },
  ],
];

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

  test("whatever its members are, is decoded or rejected, and never stops the records behind it", async () => {
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
      "own-traffic",
    ],
    ["statistics", { ...flow, event_type: "stats" }, "no-source"],
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
      "own-traffic",
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
  expect(records.map(({ value, rejection }) => (value === undefined ? rejection?.reason : "ok"))).toEqual([
    "ok",
    "ok",
    "ok",
    "ok",
    "unknown-format",
    "not-json",
  ]);
  expect(records[1]?.value).toMatchObject({ source_ip: "45.83.64.20", destination_port: 22, session_id: "C9" });
});

test("a field map makes a format of any JSON", async () => {
  const map = fieldMapSchema.parse({
    name: "doorbell",
    recognize: { product: "doorbell" },
    fields: {
      observed_at: "when",
      source_ip: ["peer.address", "peer.ip"],
      destination_port: "local.port",
      username: "user",
    },
    constants: { transport: "tcp", application: "telnet" },
  });
  const format = fieldMapFormat(map);
  const record = {
    product: "doorbell",
    when: 1795179600,
    peer: { ip: "45.83.64.21" },
    local: { port: "23" },
    user: "root",
  };
  expect(format.json?.recognizes(record)).toBe(true);
  expect(format.json?.recognizes({ product: "other" })).toBe(false);
  expect(format.json?.decode(record, PLAIN)).toMatchObject({
    observation: {
      observed_at: "2026-11-20T13:00:00.000Z",
      sensor_id: "doorbell",
      source_ip: "45.83.64.21",
      destination_port: 23,
      application: "telnet",
      login_attempts: 1,
    },
  });
  expect(fieldMapSchema.safeParse({ name: "x", fields: { sensor_id: "s" } }).success).toBe(false);
  expect(fieldMapSchema.safeParse({ name: "x", fields: { source_ip: "s", nonsense: "n" } }).success).toBe(false);
});
