import { runObservationsRemove } from "@noisefloor/cli/commands/observations/remove.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { contentOf } from "../../support/worlds/store-contents.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const SEEN = NOW - 3_600_000;

let world: World;
let app: FastifyInstance;
beforeEach(async () => {
  world = await createWorld(() => NOW);
  app = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, () => NOW)).register);
});
afterEach(async () => {
  await app.close();
  await world.close();
});

const cowrie = (ip: string, session: string, eventid: string) =>
  JSON.stringify({ eventid, timestamp: new Date(SEEN).toISOString(), src_ip: ip, session, sensor: "cellar" });

async function post(format: string, lines: readonly string[]): Promise<void> {
  const url = `/v1/observations?format=${format}`;
  const answer = await app.inject({ method: "POST", url, payload: lines.join("\n") });
  expect([answer.statusCode, answer.body]).toEqual([202, expect.stringContaining('"rejected":0')]);
}

async function remove(...format: string[]): Promise<void> {
  await runObservationsRemove({ format, dryRun: false, yes: true, json: true }, commandOver(world));
}

test("what came in one log format, sessions too, is taken back by the format alone", async () => {
  const own = [1, 2].map((last) => JSON.stringify(observation(addressOf(last), SEEN)));
  await post("observations", own);
  const before = await contentOf(world.client, "address_tags");
  await post("cowrie", [
    cowrie(addressOf(2), "a", "cowrie.session.connect"),
    cowrie(addressOf(2), "a", "cowrie.login.failed"),
    cowrie(addressOf(3), "b", "cowrie.session.connect"),
  ]);
  // A session that goes on is stored anew.
  await post("cowrie", [cowrie(addressOf(3), "b", "cowrie.command.input")]);
  expect(await contentOf(world.client, "observations")).toMatchObject({ rows: 4 });
  await expect(remove("zeek")).rejects.toThrow(
    'no stored observation has the format "zeek"; there are cowrie, observations',
  );
  await remove("cowrie");
  expect(await contentOf(world.client, "observations")).toMatchObject({ rows: 2 });
  expect(await contentOf(world.client, "address_tags")).toMatchObject({ rows: before?.rows });
  expect((await world.get(`/v3/ip/${addressOf(3)}?quick=true`)).body).toMatchObject({
    internet_scanner_intelligence: { found: false },
  });
});
