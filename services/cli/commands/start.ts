import { type Roles, type RunningService, serve } from "../serve.ts";
import { openStore, type Store } from "../store.ts";
import type { CommandContext } from "./command.ts";
import { simulateInto } from "./simulate.ts";

const DEMO_DAYS = 30;

/**
 * Runs services until the user ends them or a part dies. `onReady` is called once they listen. Resolves after a clean
 * stop; rejects, after everything was let go of, when a part has died.
 */
export async function runServices(
  roles: Roles,
  context: CommandContext,
  onReady: (service: RunningService, store: Store) => Promise<void> | void = () => {},
): Promise<void> {
  const { settings, log, signal } = context;
  const store = await openStore(settings, log);
  try {
    const service = await serve(roles, store, settings, log);
    log.info({ url: service.url, clickhouse: store.server.origin }, "listening");
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
    welcome(service.url, store.server.origin, context);
    if (options.demo) await simulateInto(store.client, DEMO_DAYS, context);
  });
}

function welcome(url: string, origin: string, { settings, print }: CommandContext): void {
  const { server, dataDir } = settings.clickhouse;
  const where = server?.url ?? `${origin === "running" ? "of another process" : "embedded"}, data in ${dataDir}`;
  const brokers =
    settings.kafka?.connection.brokers.join(", ") ?? "not configured: observations come over HTTP and from files";
  print("Noisefloor: self-hosted Internet scan-noise intelligence");
  print();
  print(`  API and intake  ${url}`);
  print(`  ClickHouse      ${where}`);
  print(`  Kafka           ${brokers}`);
  print(`  Retention       ${settings.retentionDays} days`);
  print();
  print("Try:");
  print(`  curl "${url}/v3/tags?name=ssh"`);
  print(
    `  curl -X POST ${url}/v1/observations -d '{"observed_at":"'$(date -u +%FT%TZ)'","sensor_id":"my-sensor","source_ip":"192.175.48.6","destination_port":22,"transport":"tcp","tags":["ssh-scanner"]}'`,
  );
  print(`  curl ${url}/v3/community/192.175.48.6`);
  print();
  print("Ctrl-C stops it.");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((settle) => {
    if (signal.aborted) settle();
    else signal.addEventListener("abort", () => settle(), { once: true });
  });
}
