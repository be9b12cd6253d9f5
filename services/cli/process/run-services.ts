import { once } from "node:events";
import { checkTlsFiles } from "@noisefloor/http/server/tls.ts";
import type { CommandContext } from "../framework/command.ts";
import { type AssertRetention, openStore, openStoreToRead } from "../store/prepare-store.ts";
import { asService, type Store } from "../store/store.ts";
import { assertPortsFree } from "./http/listen.ts";
import { type RunningService, serve } from "./serve.ts";
import type { Roles } from "./service-context.ts";

type BackgroundWork = (signal: AbortSignal) => Promise<void>;

/**
 * Runs services until a signal or a failure. Resolves after a clean shutdown. Rejects when a part has failed for good,
 * after everything was closed.
 */
export async function runServices(
  roles: Roles,
  context: CommandContext,
  /** Called once the services listen. @returns work that goes on beside them until its signal. */
  onReady: (service: RunningService, store: Store) => Promise<BackgroundWork | undefined> = async () => undefined,
  assertRetention?: AssertRetention,
): Promise<void> {
  const { settings, log, signal } = context;
  // Before a server is started and a database created: what is wrong with the settings needs neither.
  await assertPortsFree(settings, roles);
  if (settings.http.tls !== undefined) await checkTlsFiles(settings.http.tls);
  const options = asService(context, signal);
  const store = roles.ingest
    ? await openStore(context, options, { assertRetention })
    : await openStoreToRead(context, options);
  try {
    const service = await serve(roles, store, settings, log);
    const { url, httpsUrl, intakeUrl } = service;
    log.info({ url, httpsUrl, intakeUrl, clickhouse: store.server.origin }, "listening");
    const stopping = new AbortController();
    let background: Promise<void> | undefined;
    try {
      const work = await onReady(service, store);
      background = work?.(AbortSignal.any([signal, stopping.signal])).catch((error: unknown) => {
        log.error({ err: error }, "work beside the services failed; they go on without it");
      });
      await Promise.race([aborted(signal), service.failure]);
      log.info("stopping");
    } finally {
      stopping.abort();
      await background;
      await service.stop();
    }
  } finally {
    await store.close();
  }
  log.info("stopped");
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
