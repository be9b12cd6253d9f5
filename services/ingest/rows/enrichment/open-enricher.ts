import { createRequire } from "node:module";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import { createEnricher, type Enricher } from "./enricher.ts";
import type { FactsSource, NetworkRanges } from "./facts.ts";
import { openMmdb, watchedMmdb } from "./mmdb-file.ts";
import { openNetworkTable } from "./network-table.ts";

/** npm packages with databases that need no account. They are optional: an install may leave them out. */
const PACKAGES: readonly DataPackage[] = [
  { name: "@ip-location-db/asn", file: "asn-ipv4-num.csv", open: openNetworkTable },
  {
    name: "@ip-location-db/geo-whois-asn-country-mmdb",
    file: "geo-whois-asn-country-ipv4.mmdb",
    open: async (name, path) => ({ ...(await openMmdb(path)), name }),
  },
];

type DataPackage = {
  readonly name: string;
  readonly file: string;
  readonly open: (name: string, path: string) => Promise<FactsSource>;
};

const POLL_MS = 5_000;

/** By path: an installed package does not change, and reading one takes some hundred milliseconds. */
const openOnce = createSingleFlight<string, FactsSource>({ keepsResults: true });

export type EnricherOptions = {
  /** mmdb files, which win against the packages, each against those after it. */
  readonly mmdbPaths: readonly string[];
  readonly log: { readonly warn: (fields: object, message: string) => void };
  readonly metrics?: Pick<Metrics, "gaugeBy" | "databaseReloadFailures"> | undefined;
  /** How often to look whether the files have changed. */
  readonly pollIntervalMs?: number;
  /** Where a package's file is; throws when it is not installed. */
  readonly resolvePackage?: (file: string) => string;
};

export type OpenEnricher = Enricher & {
  /** The names of the databases in use, the first to be asked first. */
  databases(): readonly string[];
  /** The networks of the first database that can list them. */
  ranges(): NetworkRanges | undefined;
  /** Reads the files again that have changed. */
  refresh(): Promise<void>;
  stop(): void;
};

/**
 * Opens the databases of networks and countries. Whatever is missing or broken is a warning, and observations lack what
 * only it knows: no observation is lost for it.
 */
export async function openEnricher(options: EnricherOptions): Promise<OpenEnricher> {
  const { mmdbPaths, log, metrics, pollIntervalMs = POLL_MS } = options;
  metrics?.databaseReloadFailures.inc(0);
  const files = mmdbPaths.map((path) =>
    watchedMmdb(path, (error, isInUse) => {
      metrics?.databaseReloadFailures.inc();
      log.warn({ err: error, path }, `reading a database failed; ${isInUse ? "the earlier one" : "none"} is used`);
    }),
  );
  const packages = await openPackages(options);
  const sources = () => [...files.flatMap((file) => file.current() ?? []), ...packages];
  const enricher = createEnricher(sources);
  const refresh = async () => {
    const changed = await Promise.all(files.map((file) => file.refresh()));
    if (changed.includes(true)) enricher.forget();
  };
  await refresh();
  metrics?.gaugeBy(
    "noisefloor_database_built_timestamp_seconds",
    "When a database of networks and countries was made, in seconds since 1970, by its file",
    "database",
    () => sources().flatMap(({ name, builtAt }) => (builtAt === undefined ? [] : [[name, builtAt / 1_000] as const])),
  );
  const polling = repeatEvery(refresh, {
    everyMs: pollIntervalMs,
    onError: (error) => log.warn({ err: error }, "looking for changed databases failed"),
  });
  return {
    ...enricher,
    databases: () => sources().map(({ name }) => name),
    ranges: () => sources().find(({ ranges }) => ranges !== undefined)?.ranges,
    refresh,
    stop: () => void polling.stop(),
  };
}

async function openPackages(options: EnricherOptions): Promise<FactsSource[]> {
  const sources = await Promise.all(PACKAGES.map((each) => openPackage(each, options)));
  return sources.filter((source) => source !== undefined);
}

async function openPackage(
  { name, file, open }: DataPackage,
  { mmdbPaths, log, resolvePackage = resolveFile }: EnricherOptions,
): Promise<FactsSource | undefined> {
  let path: string;
  try {
    path = resolvePackage(`${name}/${file}`);
  } catch {
    // With files of one's own, the packages may be left out on purpose.
    const remedy = `install it with "npm install ${name}", or set MMDB_PATHS`;
    if (mmdbPaths.length === 0) log.warn({ package: name }, `networks or countries stay empty: ${remedy}`);
    return undefined;
  }
  try {
    return await openOnce(path, () => open(name, path));
  } catch (error) {
    log.warn({ err: error, package: name, path }, "reading a database failed; none is used");
    return undefined;
  }
}

/** From the folder of this module, or of the bundle that it is part of. */
const resolveFile = (file: string) => createRequire(import.meta.url).resolve(file);
