import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup/backup.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let folder: string;
// Embedded, so that it can reach a bucket on this machine.
let server: EmbeddedClickHouse;
let world: World;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-places-"));
  server = await startEmbedded(folder);
  world = await createWorld(Date.now, { server: server.connection });
});
afterAll(async () => {
  await world.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ["", /is no place: give a path, disk:NAME\/PATH, or the https URL/],
  ["disk:backups", /is no place/],
  ["s3://bucket/x", /is no place/],
  ["https://user:secret@bucket.example.org/x", /the bucket's URL takes a host and a path and nothing else/],
  ["https://bucket.example.org/x?X-Signature=secret", /takes a host and a path and nothing else/],
  ["disk:nowhere/x", /allowed_disk/],
])("a backup to %j is an error that says what is accepted, and no secret", async (destination, message) => {
  const command = commandOver(world);
  const settings = { ...command.settings, backupS3: { accessKey: "my-access", secretKey: "my-secret" } };
  const failure = await runBackup(destination, { ...command, settings }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: expect.stringMatching(message) });
  expect(String(failure)).not.toMatch(/secret@|=secret|my-secret|Stack trace/);
});

test("an error of a bucket is reported without its keys", async () => {
  const bucket = createServer((_request, response) => {
    response.writeHead(403, { "content-type": "application/xml" });
    response.end("<Error><Code>AccessDenied</Code><Message>no entry for my-access</Message></Error>");
  });
  await new Promise<void>((settle) => bucket.listen(0, "127.0.0.1", settle));
  onTestFinished(() => void bucket.close());
  const address = bucket.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const command = commandOver(world);
  const settings = { ...command.settings, backupS3: { accessKey: "my-access", secretKey: "my-secret" } };
  const failure = await runBackup(`http://127.0.0.1:${port}/bucket/x`, { ...command, settings }).catch(
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({
    name: "BackupError",
    message: expect.stringMatching(/^the backup cannot be made: Failed to check existence of/),
  });
  expect(String(failure)).not.toMatch(/my-secret|my-access|Stack trace/);
});
