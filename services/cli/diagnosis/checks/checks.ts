import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import type { Facts } from "../probes/gather.ts";
import { knownOf } from "../probes/probe.ts";
import { checkObservations } from "./check-observations.ts";
import { checkDeadLetters, checkSensors } from "./check-sensors.ts";
import {
  checkBenignUpdates,
  checkCaches,
  checkCertificate,
  checkFeeds,
  checkFollowed,
  checkGuard,
  checkKafka,
  checkLoad,
  checkServices,
  checkWatches,
} from "./check-services.ts";
import {
  checkBackup,
  checkClickHouse,
  checkClock,
  checkDataDirectory,
  checkDisk,
  checkReplicas,
  checkSchema,
} from "./check-store.ts";
import { type Finding, failure, ok, unlessLate } from "./finding.ts";

/** Every check, in the order in which a fault is looked for: one further up often explains those below. */
export function diagnose(facts: Facts): Finding[] {
  const store = "value" in facts.store.facts ? facts.store.facts.value : undefined;
  const findings = [
    ...checkLoad(facts),
    ...checkServices(facts),
    ...checkDataDirectory(facts),
    ...checkClickHouse(facts),
    ...(store === undefined
      ? checkOwnDisk(facts)
      : [...checkSchema(store), ...checkReplicas(store), ...checkDisk(store)]),
    ...checkClock("ClickHouse", store?.clock.skewMs),
    ...checkClock("Kafka", knownOf(facts.kafka)?.skewMs),
    ...checkKafka(facts),
    ...checkFollowed(facts),
    ...checkCaches(facts),
    ...checkCertificate(facts),
    ...(store === undefined
      ? []
      : [
          ...checkObservations(store),
          ...checkSensors(store, facts.now),
          ...checkDeadLetters(store),
          ...checkBackup(store, facts.now),
        ]),
    ...checkBenignUpdates(facts),
    ...checkGuard(facts),
    ...checkWatches(facts),
    ...checkFeeds(facts),
  ];
  return findings.map(unlessLate);
}

const MIN_FREE_BYTES = 256 * 1024 * 1024;

/** While ClickHouse cannot say it, of the embedded one's folder. */
function checkOwnDisk({ dataDirectory, store }: Facts): Finding[] {
  const { disk, path } = dataDirectory;
  if (!store.isEmbedded || "error" in disk) return [];
  const { freeBytes, totalBytes } = disk.value;
  const text = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free`;
  if (freeBytes >= MIN_FREE_BYTES) return [ok("disk", text)];
  return [failure("disk", `full: ${text} on the disk of ${path}`, "free space, or enlarge the disk")];
}
