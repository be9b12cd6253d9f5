import { hostname } from "node:os";
import { join } from "node:path";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import getPort from "get-port";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { mapsAlong } from "../support/ingest/field-maps.ts";
import { unpackDebian } from "../support/programs.ts";
import { ingestOf } from "../support/worlds/consuming-world.ts";
import { createWorld } from "../support/worlds/world.ts";
import { makeFolder, SCANNER, startSensor } from "./sensor.ts";

const RELEASE = "trixie";

const storedQuery = defineQuery({
  name: "test-syslog-senders",
  sql: `SELECT toString(source_ip) AS source, sensor_id AS sensor, application, session_id AS session, commands, http_path AS path
    FROM observations FINAL ORDER BY session`,
  params: z.object({}),
  row: z.object({
    source: z.string(),
    sensor: z.string(),
    application: z.string(),
    session: z.string(),
    commands: z.array(z.string()),
    path: z.string(),
  }),
});

/** An intake that listens to syslog. @returns its port, and what is stored. */
async function listening() {
  const world = await createWorld(Date.now);
  const more = { formats: [...LOG_FORMATS, ...mapsAlong()], syslog: { port: 0, isSender: () => true } };
  const ingest = await ingestOf(world, undefined, Date.now, [], undefined, undefined, more);
  await ingest.start();
  onTestFinished(async () => {
    await ingest.stop();
    await world.close();
  });
  return { port: ingest.syslogPort() ?? 0, rows: () => run(world.client, storedQuery, {}) };
}

/** A line of Cowrie's log, with a command that fills it, in letters of several bytes. */
const line = (session: string, length = 10) =>
  JSON.stringify({
    eventid: "cowrie.command.input",
    src_ip: SCANNER,
    session,
    protocol: "ssh",
    input: `echo ${"ü".repeat(length)}`,
    timestamp: new Date().toISOString(),
  });
const stored = (session: string, sensor: string, length = 10) => ({
  source: SCANNER,
  sensor,
  application: "ssh",
  session,
  commands: [`echo ${"ü".repeat(length)}`],
  path: "",
});

/** Each way in which rsyslog's omfwd sends. */
const WAYS = [
  ["octet-counted", 'protocol="tcp" tcp_framing="octet-counted"', 1_000],
  ["lines over TCP", 'protocol="tcp" tcp_framing="traditional"', 1_000],
  ["UDP", 'protocol="udp"', 500],
] as const;

test.each(WAYS)("what rsyslog 8 forwards, %s, is stored", { timeout: 600_000 }, async (_name, way, length) => {
  const { commandOf } = await unpackDebian("rsyslog-trixie", RELEASE, ["rsyslog"]);
  const { port, rows } = await listening();
  const folder = await makeFolder({ "cowrie.json": `${line("a", length)}\n${line("b")}\n` });
  const config = `
    global(workDirectory="${folder}" localHostname="pot-1" maxMessageSize="64k")
    module(load="imfile")
    input(type="imfile" File="${folder}/cowrie.json" Tag="cowrie:")
    action(type="omfwd" target="127.0.0.1" port="${port}" ${way} template="RSYSLOG_SyslogProtocol23Format")`;
  const conf = join(await makeFolder({ "rsyslog.conf": config }), "rsyslog.conf");
  const [loader, option, libraries, program] = commandOf("usr/sbin/rsyslogd");
  const own = ["-n", "-f", conf, "-i", join(folder, "pid"), "-M", join(libraries, "rsyslog")];
  // It says nothing once it runs.
  await startSensor(loader, [option, libraries, program, ...own], { folder, ready: /^/ });
  await eventually(async () => expect(await rows()).toEqual([stored("a", "pot-1", length), stored("b", "pot-1")]));
});

test.each([["tcp"], ["udp"]])("what syslog-ng 4 sends over %s is stored", { timeout: 600_000 }, async (transport) => {
  const { root, commandOf } = await unpackDebian("syslog-ng-trixie", RELEASE, ["syslog-ng-core"]);
  const { port, rows } = await listening();
  const folder = await makeFolder({ "cowrie.json": `${line("a", 500)}\n${line("b")}\n` });
  const config = `@version: 4.8
    options { keep-hostname(no); use-dns(no); };
    source s { file("${folder}/cowrie.json" flags(no-parse) follow-freq(1) host-override("pot-2") program-override("cowrie")); };
    destination d { syslog("127.0.0.1" port(${port}) transport("${transport}")); };
    log { source(s); destination(d); };`;
  const conf = join(await makeFolder({ "syslog-ng.conf": config }), "syslog-ng.conf");
  const [loader, option, libraries, program] = commandOf("usr/sbin/syslog-ng");
  const args = [option, `${libraries}:${root}/usr/lib/syslog-ng`, program];
  const state = ["-R", join(folder, "persist"), "-p", join(folder, "pid"), "-c", join(folder, "ctl")];
  const modules = `--module-path=${root}/usr/lib/syslog-ng/4.8`;
  await startSensor(loader, [...args, "-F", "-e", "-v", "-f", conf, modules, ...state], {
    folder,
    ready: /starting up/,
  });
  await eventually(async () => expect(await rows()).toEqual([stored("a", "pot-2", 500), stored("b", "pot-2")]));
});

test("requests that nginx 1.26 logs by syslog are stored, by the host in the head", { timeout: 600_000 }, async () => {
  const { commandOf } = await unpackDebian("nginx-trixie", RELEASE, ["nginx-light"]);
  const { port, rows } = await listening();
  const web = await getPort({ host: "127.0.0.1" });
  const folder = await makeFolder({});
  const config = `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr notice;
    events {}
    http {
      log_format seen '${SCANNER} - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
      access_log syslog:server=127.0.0.1:${port},tag=nginx seen;
      client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
      uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server { listen 127.0.0.1:${web}; location / { return 200 ok; } }
    }`;
  const conf = join(await makeFolder({ "nginx.conf": config }), "nginx.conf");
  const [loader, ...args] = commandOf("usr/sbin/nginx");
  await startSensor(loader, [...args, "-p", folder, "-c", conf], { folder, ready: /event method/ });
  await fetch(`http://127.0.0.1:${web}/.env`);
  await eventually(async () =>
    expect(await rows()).toMatchObject([{ source: SCANNER, sensor: hostname(), application: "http", path: "/.env" }]),
  );
});

test("what logger of util-linux sends, in each form, is stored", { timeout: 600_000 }, async () => {
  const { runUnpacked } = await unpackDebian("bsdutils-trixie", RELEASE, ["bsdutils"]);
  const { port, rows } = await listening();
  const forms = [
    "--tcp --rfc3164",
    "--tcp --rfc5424",
    "--tcp --octet-count --rfc5424",
    "--udp --rfc3164",
    "--udp --rfc5424",
  ];
  for (const [index, form] of forms.entries()) {
    const args = [
      ...form.split(" "),
      "--size",
      "4KiB",
      "--server",
      "127.0.0.1",
      "--port",
      String(port),
      "--tag",
      "cowrie",
    ];
    await runUnpacked("usr/bin/logger", [...args, line(`s${index}`, 200)]);
  }
  await eventually(async () =>
    expect(await rows()).toMatchObject(forms.map((_form, index) => ({ session: `s${index}`, source: SCANNER }))),
  );
});
