import { valueWriter } from "@noisefloor/clickhouse/row-binary/value-writer.ts";
import { type ObservationRow, toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { ENCODED_COLUMNS, writeRow } from "@noisefloor/ingest/store/columns.ts";
import { insertObservations } from "@noisefloor/ingest/store/insert.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld } from "../../support/worlds/world.ts";

const NOW = Date.now();
const text = fc.string({ unit: "grapheme", maxLength: 100 });
const texts = fc.array(text, { maxLength: 4 });
const uuids = fc.array(fc.uuid(), { maxLength: 3 });
const port = fc.nat(65_535);
const degrees = fc.float({ noNaN: true, noDefaultInfinity: true });
const digests = fc.array(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((digest) => digest.toString()),
  { maxLength: 3 },
);

/** Values of columns, any of which a row may lack. */
const values = fc.record(
  {
    sensor_id: text,
    format: text,
    source_port: port,
    destination_port: port,
    transport: fc.constantFrom("tcp", "udp"),
    tags: uuids,
    rule_tags: uuids,
    shared_tags: uuids,
    labels: texts,
    application: text,
    session_id: text,
    session_parts: digests,
    credentials: fc.array(fc.record({ username: text, password: text }), { maxLength: 3 }),
    login_attempts: fc.nat(1_000_000),
    commands: texts,
    http: fc.record(
      {
        path: text,
        user_agent: fc.string({ minLength: 120, maxLength: 300 }),
        headers: texts,
        header_lines: texts,
      },
      { requiredKeys: [] },
    ),
    tls: fc.record({ ja4: text }, { requiredKeys: [] }),
    ssh: fc.record({ banner: text }, { requiredKeys: [] }),
    body: fc.record({ head: text, sha256: text }),
    asn: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    country: fc.constantFrom("NL", "BR"),
    latitude: degrees,
    longitude: degrees,
    rdns_validated: fc.boolean(),
    metadata: text,
  },
  { requiredKeys: [] },
);

function rowOf(more: Partial<ObservationRow>, number: number): ObservationRow {
  const seen = { ...observation(addressOf(number), NOW), dataset: "global" as const, workspace_id: "", tags: [] };
  const id = `row-${String(number).padStart(6, "0")}`;
  const row = toRow({ observation: seen, observedAt: NOW, isFilledIn: false }, { observationId: id, tagIds: [] });
  return { ...row, ...more };
}

test("rows are read as they were inserted, whatever columns they lack", async () => {
  const world = await createWorld(() => NOW);
  const insert = insertObservations(world.client);
  const read = async () => {
    const { stream } = await world.client.exec({
      query: `SELECT ${ENCODED_COLUMNS.join(", ")} FROM observations ORDER BY observation_id FORMAT RowBinary`,
    });
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces).toString("latin1");
  };
  const batches = fc.array(fc.oneof(fc.constant({}), values), { minLength: 1, maxLength: 40 });
  let token = 0;
  const property = fc.asyncProperty(batches, async (batch) => {
    await world.client.command({ query: "TRUNCATE TABLE observations" });
    const rows = batch.map(rowOf);
    await insert(rows, `rows-${token++}`);
    const to = valueWriter();
    for (const row of rows) writeRow(to, row);
    expect(await read()).toBe(to.copy().toString("latin1"));
  });
  await fc.assert(property, { numRuns: atVolume(8, 100) }).finally(world.close);
});
