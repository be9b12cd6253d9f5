import { createIngest, type Ingest } from "@noisefloor/ingest/service.ts";
import { openRuleTagger } from "../reference/rule-tagger.ts";
import type { OpenAddressIndex } from "./address-index.ts";
import type { Caches } from "./caches.ts";
import type { Clients } from "./clients.ts";
import { openDisk } from "./disk.ts";
import type { ServiceContext } from "./service-context.ts";

/** Opens the intake: the Kafka consumer, when brokers are configured, and `POST /v1/observations`. */
export async function openIngest(
  context: ServiceContext,
  clients: Pick<Clients, "polling" | "inserts">,
  { catalogue, retentionDays, sensors }: Caches,
  index: Pick<OpenAddressIndex, "onStored"> | undefined,
): Promise<Ingest | undefined> {
  if (sensors === undefined) return undefined;
  const { settings, log, metrics, closeStack } = context;
  const tagger = await openRuleTagger({ settings, log }, clients.inserts, catalogue);
  closeStack.add(tagger.stop);
  const ingest = await createIngest({
    client: clients.inserts,
    catalogue,
    tagger,
    retentionDays,
    sensorKeys: settings.http.sensorKeys,
    sensors,
    disk: await openDisk(context, clients.polling),
    deadLetterBytesPerDay: settings.deadLetterBytesPerDay,
    kafka: settings.kafka,
    onStored: index?.onStored,
    metrics,
    log,
    now: Date.now,
  });
  closeStack.add(ingest.stop);
  return ingest;
}
