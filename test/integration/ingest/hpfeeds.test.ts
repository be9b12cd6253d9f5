import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { createWorld } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");

/** A message as the protocol frames it. */
function framed(opcode: number, ...strings: readonly (string | Buffer)[]): Buffer {
  const last = Buffer.from(strings.at(-1) ?? "");
  const named = strings.slice(0, -1).flatMap((text) => [Buffer.of(text.length), Buffer.from(text)]);
  const data = Buffer.concat([...named, last]);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(data.length + 5, 0);
  header[4] = opcode;
  return Buffer.concat([header, data]);
}

/** A broker that lets in whoever knows the secret, and shows what subscribers have asked for. */
async function startBroker(secret: string) {
  const subscribers: Socket[] = [];
  const asked: string[] = [];
  const server = createServer((socket) => {
    const nonce = randomBytes(4);
    socket.on("error", () => {});
    socket.write(framed(1, "test-broker", nonce));
    socket.on("data", (bytes) => {
      const digest = createHash("sha1").update(nonce).update(secret).digest();
      if (!bytes.includes(digest) && subscribers.indexOf(socket) < 0) {
        socket.end(framed(0, "Authentication failed"));
        return;
      }
      asked.push(bytes.toString("latin1"));
      subscribers.push(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  onTestFinished(() => {
    for (const socket of subscribers) socket.destroy();
    server.close();
  });
  return { subscribers, asked, port: typeof address === "object" && address !== null ? address.port : 0 };
}

const visit = (session: string, ip: string) =>
  JSON.stringify({
    session,
    startTime: "2026-11-20T14:00:00Z",
    peerIP: ip,
    peerPort: 4,
    hostPort: 22,
    loggedin: ["root", "x"],
    credentials: [],
    commands: ["id"],
    protocol: "ssh",
  });

test("sessions that a broker publishes are stored, also after the connection has ended", async () => {
  const world = await createWorld(() => NOW);
  const broker = await startBroker("the-secret");
  const settings = { host: "127.0.0.1", port: broker.port, tls: false, ident: "me", secret: "the-secret" };
  const metrics = createMetrics();
  const more = { hpfeeds: { ...settings, channels: ["cowrie.sessions"] } };
  const ingest = await ingestOf(world, undefined, () => NOW, [], metrics, undefined, more);
  onTestFinished(async () => {
    await ingest.stop();
    await world.close();
  });
  await ingest.start();
  const stored = defineQuery({
    name: "test-hpfeeds",
    sql: "SELECT toString(source_ip) AS ip, sensor_id AS sensor, session_id AS session FROM observations FINAL ORDER BY ip",
    params: z.object({}),
    row: z.object({ ip: z.string(), sensor: z.string(), session: z.string() }),
  });
  const rows = () => run(world.client, stored, {});

  await eventually(async () => expect(broker.asked.join("")).toContain("mecowrie.sessions"));
  const whole = Buffer.concat([
    framed(3, "pot-1", "cowrie.sessions", visit("s1", "45.83.64.1")),
    framed(3, "pot-1", "cowrie.sessions", "this is no session"),
    framed(3, "pot-1", "cowrie.sessions", visit("s2", "10.0.0.1")),
  ]);
  // Messages come in pieces.
  broker.subscribers[0]?.write(whole.subarray(0, 60));
  broker.subscribers[0]?.write(whole.subarray(60));
  const first = { ip: "45.83.64.1", sensor: "pot-1", session: "s1" };
  await eventually(async () => expect(await rows()).toEqual([first]));

  broker.subscribers[0]?.destroy();
  await eventually(async () => expect(broker.subscribers.length).toBeGreaterThan(1));
  broker.subscribers.at(-1)?.write(framed(3, "pot-2", "cowrie.sessions", visit("s3", "45.83.64.3")));
  const third = { ip: "45.83.64.3", sensor: "pot-2", session: "s3" };
  await eventually(async () => expect(await rows()).toEqual([first, third]));

  // What came before an error, in the same piece, is stored all the same.
  const last = framed(3, "pot-2", "cowrie.sessions", visit("s4", "45.83.64.4"));
  broker.subscribers.at(-1)?.write(Buffer.concat([last, framed(0, "shutting down")]));
  await eventually(async () =>
    expect(await rows()).toEqual([first, third, { ip: "45.83.64.4", sensor: "pot-2", session: "s4" }]),
  );
  const text = await metrics.text();
  expect(text).toContain('noisefloor_ingest_records_total{source="hpfeeds",outcome="source-not-routable"} 1');
  expect(text).toContain('noisefloor_ingest_records_total{source="hpfeeds",outcome="not-json"} 1');
  await expect.poll(() => metrics.text()).toContain("noisefloor_hpfeeds_gaps 2");
});
