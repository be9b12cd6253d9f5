import { openEnricher } from "@noisefloor/ingest/enrichment/open-enricher.ts";
import { createIngest, type Ingest } from "@noisefloor/ingest/service.ts";
import { readSensorFormats } from "../formats.ts";
import { openRuleTagger } from "../reference/rule-tagger.ts";
import type { OpenAddressIndex } from "./address-index.ts";
import { startBenignUpdate } from "./benign-update.ts";
import type { Caches } from "./caches.ts";
import type { Clients } from "./clients.ts";
import { openDisk } from "./disk.ts";
import type { ServiceContext } from "./service-context.ts";

/** Opens the intake: the Kafka consumer, when brokers are configured, and `POST /v1/observations`. */
export async function openIngest(
  context: ServiceContext,
  clients: Pick<Clients, "polling" | "inserts">,
  { catalogue, retentionDays, sensors, access }: Caches,
  index: Pick<OpenAddressIndex, "onStored"> | undefined,
): Promise<Ingest | undefined> {
  if (sensors === undefined) return undefined;
  const { settings, log, metrics, closeStack } = context;
  const tagger = await openRuleTagger({ settings, log }, clients.inserts, catalogue);
  closeStack.add(tagger.stop);
  // Here and not beside the queries, whose user may not write.
  if (settings.updatesBenignDaily) {
    closeStack.add(startBenignUpdate({ client: clients.inserts, metrics, log, now: Date.now }).stop);
  }
  const enricher = await openEnricher({ mmdbPaths: settings.mmdbPaths, log, metrics });
  closeStack.add(enricher.stop);
  const ingest = await createIngest({
    client: clients.inserts,
    catalogue,
    tagger,
    retentionDays,
    sensorKeys: settings.http.sensorKeys,
    sensors,
    isWorkspaceKey: (key) => access?.callerOf(key) !== undefined,
    ...readSensorFormats(settings),
    disk: await openDisk(context, clients.polling),
    deadLetterBytesPerDay: settings.deadLetterBytesPerDay,
    kafka: settings.kafka,
    hpfeeds: settings.hpfeeds,
    enricher,
    onStored: index?.onStored,
    metrics,
    log,
    now: Date.now,
  });
  closeStack.add(ingest.stop);
  return ingest;
}
