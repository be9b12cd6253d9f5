import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { mapsAlong } from "../../support/ingest/field-maps.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { createWorld } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");

const stored = defineQuery({
  name: "test-syslog",
  sql: `SELECT toString(source_ip) AS ip, sensor_id AS sensor, formatDateTime(observed_at, '%T') AS at,
      destination_port AS port, application, http_path AS path FROM observations FINAL ORDER BY ip`,
  params: z.object({}),
  row: z.object({
    ip: z.string(),
    sensor: z.string(),
    at: z.string(),
    port: z.int().nullable(),
    application: z.string(),
    path: z.string(),
  }),
});
const letters = defineQuery({
  name: "test-syslog-letters",
  sql: "SELECT source, reason, payload_bytes AS bytes, left(payload, 20) AS begins FROM dead_letters FINAL ORDER BY bytes",
  params: z.object({}),
  row: z.object({ source: z.string(), reason: z.string(), bytes: z.int(), begins: z.string() }),
});

const counted = (text: string) => `${Buffer.byteLength(text)} ${text}`;
const packet = (source: string) =>
  `IN=eth0 OUT= SRC=${source} DST=203.0.113.7 LEN=40 TOS=0x00 TTL=240 ID=1 PROTO=TCP SPT=4000 DPT=23 WINDOW=1024 SYN`;
const cowrie = (source: string) =>
  JSON.stringify({ eventid: "cowrie.session.connect", src_ip: source, dst_port: 22, session: source, protocol: "ssh" });
const filtered = (source: string) =>
  `5,,,1000000103,igb0,match,block,in,4,0x0,,240,54321,0,none,6,tcp,44,${source},203.0.113.7,40000,8291,0,S,1234,,1024,,mss`;

test("what routers, relays and programs send by syslog is stored, over TCP and UDP, in either form", async () => {
  const world = await createWorld(() => NOW);
  const metrics = createMetrics();
  const more = { formats: [...LOG_FORMATS, ...mapsAlong()], syslog: { port: 0, isSender: () => true } };
  const ingest = await ingestOf(world, undefined, () => NOW, [], metrics, undefined, more);
  await ingest.start();
  const port = ingest.syslogPort() ?? 0;
  onTestFinished(async () => {
    await ingest.stop();
    await world.close();
  });

  const long = `<13>1 2026-11-20T13:00:00Z gw a - - - ${"x".repeat(300_000)}`;
  const whole = Buffer.from(
    [
      `<4>Nov 20 13:00:01 gw kernel: ${packet("45.83.64.1")}\n`,
      counted(`<134>1 2026-11-20T13:00:02.5+00:00 pf.example filterlog 61233 - - ${filtered("45.83.64.2")}`),
      counted(long),
      `<14>Nov 20 13:00:03 pot cowrie: ${cowrie("45.83.64.3")}\n`,
      `<190>Nov 20 13:00:09 web nginx: 45.83.64.4 - - [20/Nov/2026:13:00:04 +0000] "GET /.env HTTP/1.1" 404 9 "-" "-"\n`,
      "<38>Nov 20 13:00:05 web sshd[7]: no format reads this\n",
      `<4>Nov 20 13:00:06 gw kernel: ${packet("10.0.0.9")}\n`,
      "<86>Nov 20 13:00:07 gw sshd[7]: neither this, in the log of a packet filter\n",
    ].join(""),
  );
  const socket = connect(port, "127.0.0.1");
  socket.write(whole.subarray(0, 500));
  socket.end(whole.subarray(500));
  const udp = createSocket("udp4");
  onTestFinished(() => void udp.close());
  // Without a host in the head: the address that it came from.
  udp.send(`<134>Nov 20 13:00:08 filterlog[61233]: ${filtered("45.83.64.5")}\n\0`, port, "127.0.0.1");

  const common = { port: 23, application: "", path: "" };
  await eventually(async () =>
    expect(await run(world.client, stored, {})).toEqual([
      { ...common, ip: "45.83.64.1", sensor: "gw", at: "13:00:01" },
      { ...common, ip: "45.83.64.2", sensor: "pf.example", at: "13:00:02", port: 8291 },
      { ip: "45.83.64.3", sensor: "pot", at: "13:00:03", port: 22, application: "ssh", path: "" },
      { ip: "45.83.64.4", sensor: "web", at: "13:00:04", port: null, application: "http", path: "/.env" },
      { ...common, ip: "45.83.64.5", sensor: "127.0.0.1", at: "13:00:08", port: 8291 },
    ]),
  );
  await eventually(async () =>
    expect(await run(world.client, letters, {})).toMatchObject([
      { source: "syslog", reason: "source-not-routable", begins: "<4>Nov 20 13:00:06 g" },
      { source: "syslog", reason: "oversize", bytes: 256 * 1024 + 1, begins: long.slice(0, 20) },
    ]),
  );
  // Counted once it is stored: a moment after it can be read.
  await eventually(async () => {
    const text = await metrics.text();
    const outcomes = ["accepted", "ignored", "oversize", "source-not-routable"].map((name) =>
      Number(new RegExp(`noisefloor_ingest_records_total{source="syslog",outcome="${name}"} (\\d+)`).exec(text)?.[1]),
    );
    expect(outcomes).toEqual([5, 2, 1, 1]);
  });

  // Sent again, as relays do after a broken connection, nothing counts twice.
  connect(port, "127.0.0.1").end(whole);
  await expect
    .poll(() => metrics.text(), { timeout: 20_000 })
    .toContain('noisefloor_ingest_records_total{source="syslog",outcome="accepted"} 9');
  expect(await run(world.client, stored, {})).toHaveLength(5);
  expect(await run(world.client, letters, {})).toHaveLength(2);
});

test("an intake that stops stores what has arrived", async () => {
  const world = await createWorld(() => NOW);
  const more = { syslog: { port: 0, isSender: () => true } };
  const ingest = await ingestOf(world, undefined, () => NOW, [], createMetrics(), undefined, more);
  await ingest.start();
  onTestFinished(world.close);
  const socket = connect(ingest.syslogPort() ?? 0, "127.0.0.1");
  const count = 2_000;
  for (let index = 0; index < count; index++) {
    socket.write(`<4>Nov 20 13:00:00 gw kernel: ${packet(`45.83.${index >> 8}.${index & 255}`)}\n`);
  }
  socket.end();
  await eventually(async () => expect((await run(world.client, stored, {})).length).toBeGreaterThan(0));
  await ingest.stop();
  expect(await run(world.client, stored, {})).toHaveLength(count);
});
