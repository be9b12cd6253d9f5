import { credentials } from "@noisefloor/clickhouse/access/credentials.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { feedDefinitions } from "@noisefloor/clickhouse/feeds/definitions.ts";
import { knownHosts } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { guardNetworks } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { openStoreClock } from "@noisefloor/clickhouse/server/clock.ts";
import { tagRules } from "@noisefloor/clickhouse/tags/tag-rules.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { unusedKnown } from "@noisefloor/clickhouse/watches/known.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { createIngest, type Ingest } from "@noisefloor/ingest/service/service.ts";
import { openTargets } from "../follow-targets.ts";
import { networks, readSensorFormats } from "../formats.ts";
import { warnOfOwnAddresses } from "../own-addresses.ts";
import { openRows } from "../rows/row-options.ts";
import type { OpenAddressIndex } from "./address-index.ts";
import { startBenignUpdate } from "./benign-update.ts";
import { type Caches, logRefreshes } from "./caches.ts";
import type { Clients } from "./clients.ts";
import { renewRollups } from "./renew-rollups.ts";
import { openDisk } from "./reports/disk.ts";
import { startSensorReport } from "./reports/sensor-report.ts";
import type { ServiceContext } from "./service-context.ts";

/** Opens the intake: the Kafka consumer, when brokers are configured, and `POST /v1/observations`. */
export async function openIngest(
  context: ServiceContext,
  clients: Pick<Clients, "polling" | "inserts">,
  { catalogue, retentionDays, access }: Caches,
  index: Pick<OpenAddressIndex, "record"> | undefined,
): Promise<Ingest | undefined> {
  if (!context.roles.ingest) return undefined;
  const { settings, log, metrics, closeStack } = context;
  // Here and not beside the queries, whose user may not write.
  if (settings.updatesBenignDaily) {
    closeStack.add(startBenignUpdate({ client: clients.inserts, metrics, log, now: Date.now }).stop);
  }
  renewRollups(context);
  startForgetting(clients.inserts, context);
  const { rows, stop } = await openRows({ settings, log }, clients.inserts, catalogue, { metrics });
  closeStack.add(stop);
  const clock = await openStoreClock(clients.polling, logRefreshes("clock", log));
  closeStack.add(clock.stop);
  const formats = watchedFormats(settings, log);
  const ingest = await createIngest({
    client: clients.inserts,
    catalogue,
    retentionDays,
    sensorKeys: settings.http.sensorKeys,
    accessCache: access,
    ...formats,
    follow: await openTargets(context, formats),
    disk: await openDisk(context, clients.polling),
    storeSkewMs: clock.current,
    deadLetterBytesPerDay: settings.deadLetterBytesPerDay,
    kafka: settings.kafka,
    hpfeeds: settings.hpfeeds,
    syslog: settings.syslog && { port: settings.syslog.port, isSender: networks(settings.syslog.senders) },
    rows,
    index,
    metrics,
    log,
    now: Date.now,
  });
  closeStack.add(ingest.stop);
  const isPublic = settings.http.metricsToken === undefined;
  closeStack.add(startSensorReport(clients.polling, { metrics, log, now: Date.now, isPublic }).stop);
  return ingest;
}

/** The formats of the settings, whose records are looked through for the own addresses of passive monitors. */
function watchedFormats(settings: ServiceContext["settings"], log: ServiceContext["log"]) {
  const { formats, decode } = readSensorFormats(settings);
  return { formats, decode: { ...decode, onFlow: warnOfOwnAddresses(log) } };
}

/** A start is busy enough. */
const FIRST_MS = 5 * 60_000;

/** Records that can be deleted. */
const DELETABLE = [
  credentials,
  feedDefinitions,
  guardNetworks,
  knownHosts,
  tagRecords,
  tagRules,
  watchDefinitions,
  unusedKnown,
];

/** Forgets what was deleted long ago, beside the service, once a day and after a start. A failure is tried again. */
function startForgetting(client: ClickHouseClient, { log, closeStack }: Pick<ServiceContext, "log" | "closeStack">) {
  const forget = async () => {
    for (const { table, forgetDeleted } of DELETABLE) {
      const forgotten = await forgetDeleted(client, Date.now());
      if (forgotten > 0) log.info({ table, forgotten }, "what was deleted long ago is forgotten");
    }
  };
  const { stop } = repeatEvery(forget, {
    everyMs: DAY_MS,
    firstMs: FIRST_MS,
    onError: (error) => log.debug({ err: error }, "forgetting what was deleted long ago failed; trying again in a day"),
  });
  closeStack.add(() => void stop());
}
