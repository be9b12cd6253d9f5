import { join } from "node:path";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { cowrieLines, visits } from "../support/builders/cowrie-log.ts";
import { eventually } from "../support/eventually.ts";
import { installPython, runProgram, unpackDebian } from "../support/programs.ts";
import { ingestOf } from "../support/worlds/consuming-world.ts";
import { makeApp } from "../support/worlds/http.ts";
import { createWorld } from "../support/worlds/world.ts";
import { makeFolder, startSensor } from "./sensor.ts";

const KEY = "key-of-the-settings";
const VISITS = visits(5, Date.now() - 3_600_000);
const LINES = VISITS.flatMap(cowrieLines);
const LOGINS = VISITS.reduce((sum, { logins }) => sum + logins, 0);

/** An intake that needs a key, at a port of its own. */
async function openIntake() {
  const world = await createWorld(Date.now);
  const ingest = await ingestOf(world, undefined, Date.now, [KEY]);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  onTestFinished(async () => {
    await app.close();
    await ingest.stop();
    await world.close();
  });
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  return { world, port };
}
type OpenIntake = Awaited<ReturnType<typeof openIntake>>;

const stored = defineQuery({
  name: "test-elasticsearch-clients",
  sql: `SELECT (SELECT count() FROM observations FINAL) AS sessions, (SELECT sum(login_attempts) FROM observations FINAL) AS logins,
      (SELECT count() FROM dead_letters FINAL) AS letters`,
  params: z.object({}),
  row: z.object({ sessions: z.int(), logins: z.int(), letters: z.int() }),
});
const expectStored = ({ world }: OpenIntake, letters: number) =>
  eventually(async () => {
    expect(await run(world.client, stored, {})).toEqual([{ sessions: VISITS.length, logins: LOGINS, letters }]);
  }, 60_000);

const BULK = `
import json, sys
from elasticsearch import Elasticsearch, helpers
client = Elasticsearch("http://127.0.0.1:" + sys.argv[1], basic_auth=("sensor", sys.argv[2]))
client.info()
lines = [json.loads(line) for line in sys.stdin]
for repetition in range(2):
    helpers.bulk(client, [{"_index": "logstash-2026.11.20", "_source": line} for line in lines])
try:
    helpers.bulk(client, [{"_index": "cowrie", "_source": {"no": "record"}}])
except helpers.BulkIndexError as error:
    print(error.errors[0]["index"]["error"]["type"])`;

test("what Elasticsearch's client 9.5.1 for Python sends twice is stored once", { timeout: 600_000 }, async () => {
  const python = await installPython("elasticsearch-9.5.1", ["elasticsearch==9.5.1"]);
  const intake = await openIntake();
  const said = await runProgram(python, ["-c", BULK, intake.port, KEY], {}, LINES.join("\n"));
  expect(said.trim()).toBe("mapper_parsing_exception");
  await expectStored(intake, 1);
});

/** Cowrie's own output, without the honeypot: that one's visitors come over the loopback, which is no source. */
const COWRIE = `
import json, sys
from cowrie.output.elasticsearch import Output
output = Output.__new__(Output)
output.start()
for line in sys.stdin:
    output.write(json.loads(line))`;

test("what the output_elasticsearch of Cowrie 3.1.4 sends is stored", { timeout: 600_000 }, async () => {
  const packages = ["cowrie==3.1.4", "elasticsearch==7.17.13", "urllib3<2"];
  const python = await installPython("cowrie-3.1.4-elasticsearch", packages);
  const intake = await openIntake();
  const option = (name: string) => `COWRIE_OUTPUT_ELASTICSEARCH_${name}`;
  const env = {
    [option("HOST")]: "127.0.0.1",
    [option("PORT")]: intake.port,
    [option("INDEX")]: "cowrie",
    [option("PIPELINE")]: "geoip",
    [option("USERNAME")]: "sensor",
    [option("PASSWORD")]: KEY,
  };
  await runProgram(python, ["-c", COWRIE], env, LINES.join("\n"));
  await expectStored(intake, 0);
});

test("what rsyslog 8.2504 reads from a file is stored, and a line that is no record is a dead letter", {
  timeout: 600_000,
}, async () => {
  const packages = ["rsyslog", "rsyslog-elasticsearch"];
  const { commandOf } = await unpackDebian("rsyslog-trixie", "trixie", packages);
  const intake = await openIntake();
  const folder = await makeFolder({ "cowrie.json": `${LINES.join("\n")}\nno record\n`, "work/empty": "" });
  const settings = `
global(workDirectory="${folder}/work" maxMessageSize="1m" net.enableDNS="off")
module(load="imfile" PollingInterval="1")
module(load="omelasticsearch")
input(type="imfile" File="${folder}/cowrie.json" Tag="cowrie" Ruleset="noisefloor")
template(name="line" type="string" string="%msg%")
ruleset(name="noisefloor") {
  action(type="omelasticsearch" server="127.0.0.1" serverport="${intake.port}" uid="sensor" pwd="${KEY}" template="line"
    searchIndex="cowrie" searchType="" bulkmode="on" retryfailures="on" action.resumeRetryCount="-1")
}`;
  const files = await makeFolder({ "rsyslog.conf": settings });
  const [loader, option, libraries, program] = commandOf("usr/sbin/rsyslogd");
  const modules = join(libraries, "rsyslog");
  const options = ["-n", "-d", "-f", join(files, "rsyslog.conf"), "-i", join(files, "pid"), "-M", modules];
  await startSensor(loader, [option, libraries, program, ...options], { folder, ready: /imfile/ });
  await expectStored(intake, 1);
});
