import { readSensorKeys } from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import { makeFirstWorkspace } from "../access.ts";
import { type Roles, type RunningService, serve } from "../serve.ts";
import { asService, openStore, openStoreToRead, type Store } from "../store.ts";
import type { CommandContext } from "./command.ts";
import { simulateInto } from "./simulate.ts";

const DEMO_DAYS = 30;

/**
 * Runs services until the user ends them or a part dies. Resolves after a clean stop; rejects, after everything was let
 * go of, when a part has died.
 */
export async function runServices(
  roles: Roles,
  context: CommandContext,
  steps: {
    /** Called when the store is ready, before anything listens. */
    readonly prepare?: (store: Store) => Promise<void>;
    /** Called once the services listen. */
    readonly onReady?: (service: RunningService, store: Store) => Promise<void>;
  } = {},
): Promise<void> {
  const { settings, log, signal } = context;
  const terms = asService(log, signal);
  const store = roles.ingest
    ? await openStore(settings, log, "set", terms)
    : await openStoreToRead(settings, log, terms);
  try {
    await steps.prepare?.(store);
    const service = await serve(roles, store, settings, log);
    log.info({ url: service.url, httpsUrl: service.httpsUrl, clickhouse: store.server.origin }, "listening");
    try {
      await steps.onReady?.(service, store);
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
  let key: string | undefined;
  await runServices({ ingest: true, query: true }, context, {
    prepare: async (store) => {
      key = await makeFirstWorkspace(store.client, Date.now());
    },
    onReady: async (service, store) => {
      await welcome(service, store, key, context);
      if (options.demo) await simulateInto(store, DEMO_DAYS, context);
    },
  });
}

async function welcome(
  { url, httpsUrl }: RunningService,
  store: Store,
  key: string | undefined,
  { settings, print }: CommandContext,
): Promise<void> {
  const { server, dataDir } = settings.clickhouse;
  const where =
    server?.url ?? `${store.server.origin === "running" ? "of another process" : "embedded"}, data in ${dataDir}`;
  const brokers =
    settings.kafka?.connection.brokers.join(", ") ?? "not configured: observations come over HTTP and from files";
  print("Noisefloor: self-hosted Internet scan-noise intelligence");
  print();
  print(`  API and intake  ${url}${httpsUrl === undefined ? "" : ` and ${httpsUrl}`}`);
  print(`  ClickHouse      ${where}`);
  print(`  Kafka           ${brokers}`);
  print(`  Retention       ${store.retentionDays} days`);
  print();
  const withKey = key === undefined ? "" : `-H "key: ${key}" `;
  const isSensorKeyAsked = settings.http.sensorKeys.length > 0 || (await readSensorKeys(store.client)).length > 0;
  const withSensorKey = isSensorKeyAsked ? '-H "key: $SENSOR_KEY" ' : "";
  print("Try:");
  print(`  curl ${withKey}"${url}/v3/tags?name=ssh"`);
  print(
    `  curl ${withSensorKey}-X POST ${url}/v1/observations -d '{"observed_at":"'$(date -u +%FT%TZ)'","sensor_id":"my-sensor","source_ip":"192.175.48.6","destination_port":22,"transport":"tcp","tags":["ssh-scanner"]}'`,
  );
  print(`  curl ${withKey}${url}/v3/community/192.175.48.6`);
  print();
  if (key !== undefined)
    print("The key is shown this once. It belongs to the workspace default, which may see everything.");
  print("Another key: npx noisefloor keys create default");
  print("Ctrl-C stops it.");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((settle) => {
    if (signal.aborted) settle();
    else signal.addEventListener("abort", () => settle(), { once: true });
  });
}
