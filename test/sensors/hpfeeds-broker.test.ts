import { dirname, join } from "node:path";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import getPort from "get-port";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { installPython, runProgram } from "../support/programs.ts";
import { ingestOf } from "../support/worlds/consuming-world.ts";
import { createWorld } from "../support/worlds/world.ts";
import { makeFolder, SCANNER, startSensor } from "./sensor.ts";

const CHANNEL = "cowrie.sessions";
const PUBLISH = `
import hpfeeds, sys
client = hpfeeds.new("127.0.0.1", int(sys.argv[1]), "pot-1", "pot-secret")
client.publish("${CHANNEL}", sys.argv[2])
client.close()`;

const storedQuery = defineQuery({
  name: "test-hpfeeds-broker",
  sql: `SELECT toString(source_ip) AS source, sensor_id AS sensor, application, login_attempts AS attempts, commands
    FROM observations FINAL`,
  params: z.object({}),
  row: z.object({
    source: z.string(),
    sensor: z.string(),
    application: z.string(),
    attempts: z.int(),
    commands: z.array(z.string()),
  }),
});

test("what a sensor publishes to the broker of hpfeeds 3.1.0 is stored", { timeout: 600_000 }, async () => {
  const python = await installPython("hpfeeds-3.1.0", ["hpfeeds[broker]==3.1.0"]);
  const port = await getPort({ host: "127.0.0.1" });
  const user = (secret: string, pubchans: string[], subchans: string[]) => ({
    owner: "me",
    secret,
    pubchans,
    subchans,
  });
  const users = {
    "pot-1": user("pot-secret", [CHANNEL], []),
    noisefloor: user("reader-secret", [], [CHANNEL]),
  };
  const folder = await makeFolder({ "users.json": JSON.stringify(users) });
  const broker = join(dirname(python), "hpfeeds-broker");
  const args = ["-u", broker, "--debug", "--bind", `127.0.0.1:${port}`, "--auth", "users.json"];
  await startSensor(python, args, { folder, ready: /selector/i });

  const world = await createWorld(Date.now);
  const settings = { host: "127.0.0.1", port, tls: false, ident: "noisefloor", secret: "reader-secret" };
  const ingest = await ingestOf(world, undefined, Date.now, [], undefined, undefined, {
    hpfeeds: { ...settings, channels: [CHANNEL] },
  });
  onTestFinished(async () => {
    await ingest.stop();
    await world.close();
  });
  await ingest.start();
  const session = JSON.stringify({
    session: "s1",
    startTime: new Date(Date.now() - 60_000).toISOString(),
    peerIP: SCANNER,
    peerPort: 40_000,
    hostPort: 22,
    loggedin: ["root", "example"],
    credentials: [],
    commands: ["id"],
    protocol: "ssh",
  });
  // A broker keeps nothing for those who come later: sent until the subscriber is there, it is one session.
  await eventually(async () => {
    await runProgram(python, ["-c", PUBLISH, String(port), session]);
    expect(await run(world.client, storedQuery, {})).toEqual([
      { source: SCANNER, sensor: "pot-1", application: "ssh", attempts: 1, commands: ["id"] },
    ]);
  }, 60_000);
});
