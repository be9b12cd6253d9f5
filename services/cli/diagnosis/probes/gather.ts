import { availableParallelism, loadavg } from "node:os";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { KafkaState } from "@noisefloor/kafka/group-state.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import { readVersion } from "../../version.ts";
import type { Probe } from "./probe.ts";
import {
  type DataDirectory,
  probeCertificate,
  probeDataDirectory,
  probeKafka,
  takesConnections,
} from "./probe-machine.ts";
import { probeServices, type ServiceProbe } from "./probe-services.ts";
import { probeStore, type StoreProbe } from "./probe-store.ts";

/** Everything that `status` shows and `doctor` checks. */
export type Facts = {
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  /** This program's version. */
  readonly version: string;
  readonly settings: Settings;
  readonly dataDirectory: DataDirectory;
  readonly store: StoreProbe;
  readonly services: readonly ServiceProbe[];
  /** Whether anything takes connections where a service would listen. */
  readonly isPortTaken: boolean;
  readonly kafka: Probe<KafkaState> | undefined;
  /** Processes that want to run, over the last minute, for each processor. */
  readonly load: number;
  /** When the certificate expires, in milliseconds since 1970 UTC. */
  readonly certificate: Probe<number> | undefined;
};

/** Asks everything concurrently. Starts nothing, changes nothing and waits for nothing longer than a moment. */
export async function gatherFacts(settings: Settings): Promise<Facts> {
  // The client's own lines about brokers would stand in the middle of the answer, which says it better.
  const silent = createLogger("noisefloor", "silent");
  const [dataDirectory, store, services, isPortTaken, kafka, certificate] = await Promise.all([
    probeDataDirectory(settings),
    probeStore(settings),
    probeServices(settings),
    takesConnections(settings.http.host, settings.http.port),
    probeKafka(settings, silent),
    probeCertificate(settings),
  ]);
  const version = readVersion();
  const load = (loadavg()[0] ?? 0) / availableParallelism();
  const probes = { dataDirectory, store, services, isPortTaken, kafka, certificate };
  return { now: Date.now(), version, settings, load, ...probes };
}

/** The samples of a metric of all services. */
export function samplesOf({ services }: Pick<Facts, "services">, name: string) {
  return services.flatMap(({ metrics, url }) =>
    "value" in metrics ? metrics.value.filter((sample) => sample.name === name).map((one) => ({ ...one, url })) : [],
  );
}
