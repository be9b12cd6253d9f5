import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writePrivately } from "@noisefloor/clickhouse/private-file.ts";
import { readSenders } from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import { makeFirstWorkspace } from "../access.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { Roles } from "../serve/service-context.ts";
import { type RunningService, serve } from "../serve.ts";
import { asService, openStore, openStoreToRead, type Store } from "../store.ts";
import { simulateInto } from "./simulate.ts";

const DEMO_DAYS = 30;

/**
 * Runs services until the user ends them or a part dies. Resolves after a clean stop; rejects, after everything was let
 * go of, when a part has died.
 */
export async function runServices(
  roles: Roles,
  context: CommandContext,
  /** Called once the services listen. */
  onReady: (service: RunningService, store: Store) => Promise<void> = async () => {},
): Promise<void> {
  const { settings, log, signal } = context;
  const terms = asService(context, signal);
  const store = roles.ingest ? await openStore(context, "set", terms) : await openStoreToRead(context, terms);
  try {
    const service = await serve(roles, store, settings, log);
    log.info({ url: service.url, httpsUrl: service.httpsUrl, clickhouse: store.server.origin }, "listening");
    try {
      await onReady(service, store);
      await Promise.race([aborted(signal), service.failure]);
      log.info("stopping");
    } finally {
      await service.stop();
    }
  } finally {
    await store.close();
  }
  log.info("stopped");
}

/** `noisefloor start`: everything in one process, with a word of welcome. */
export async function runStart(options: { readonly demo: boolean }, context: CommandContext): Promise<void> {
  await runServices({ ingest: true, query: true }, context, async (service, store) => {
    // Not before everything listens: the key of a start that fails would never be seen by anybody.
    const first = await makeFirstKey(store, context);
    if (first !== undefined) await service.refreshKeys();
    await welcome(service, store, first, context);
    if (options.demo) await simulateInto(store, DEMO_DAYS, context);
  });
}

/** The key that a first start has made: shown on a terminal, else kept in a file. */
type FirstKey = { readonly key: string; readonly file: string | undefined };

async function makeFirstKey(
  { client }: Store,
  { settings, isTerminal }: CommandContext,
): Promise<FirstKey | undefined> {
  let first: FirstKey | undefined;
  await makeFirstWorkspace(client, Date.now(), async ({ keyId, key }) => {
    const folder = resolve(settings.clickhouse.dataDir);
    const file = isTerminal ? undefined : join(folder, `first-key-${keyId}`);
    if (file !== undefined) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writePrivately(file, `${key}\n`);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new UserError(`the first key cannot be kept in the data directory ${folder}: ${reason}`);
      }
    }
    first = { key, file };
  });
  return first;
}

async function welcome(
  { url, httpsUrl }: RunningService,
  store: Store,
  first: FirstKey | undefined,
  { settings, print }: CommandContext,
): Promise<void> {
  const { server, dataDir } = settings.clickhouse;
  const where =
    server?.url ??
    `${store.server.origin === "running" ? "of another process" : "embedded"}, data in ${resolve(dataDir)}`;
  const brokers =
    settings.kafka?.connection.brokers.join(", ") ?? "not configured: observations come over HTTP and from files";
  print("Noisefloor: self-hosted Internet scan-noise intelligence");
  print();
  print(`  API and intake  ${url}${httpsUrl === undefined ? "" : ` and ${httpsUrl}`}`);
  print(`  ClickHouse      ${where}`);
  print(`  Kafka           ${brokers}`);
  print(`  Retention       ${store.retentionDays} days`);
  print();
  const shownKey = first?.file === undefined ? first?.key : `$(cat '${first.file.replaceAll("'", "'\\''")}')`;
  const withKey = shownKey === undefined ? "" : `-H "key: ${shownKey}" `;
  const isSensorKeyAsked = settings.http.sensorKeys.length > 0 || (await readSenders(store.client)).needKey;
  const withSensorKey = isSensorKeyAsked ? '-H "key: $SENSOR_KEY" ' : "";
  print("Try:");
  print(`  curl ${withKey}"${url}/v3/tags?name=ssh"`);
  print(
    `  curl ${withSensorKey}-X POST ${url}/v1/observations -d '{"observed_at":"'$(date -u +%FT%TZ)'","sensor_id":"my-sensor","source_ip":"192.175.48.6","destination_port":22,"transport":"tcp","tags":["ssh-scanner"]}'`,
  );
  print(`  curl ${withKey}${url}/v3/community/192.175.48.6`);
  print();
  const whose = "It belongs to the workspace default, which may see everything.";
  if (first?.file !== undefined) print(`The first key is in ${first.file}, and nowhere else. ${whose}`);
  else if (first !== undefined) print(`The key is shown this once. ${whose}`);
  print("Another key: npx noisefloor keys create default");
  print("Ctrl-C stops it.");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((settle) => {
    if (signal.aborted) settle();
    else signal.addEventListener("abort", () => settle(), { once: true });
  });
}
