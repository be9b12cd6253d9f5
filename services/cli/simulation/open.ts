import { hash } from "node:crypto";
import type { NetworkList } from "@noisefloor/clickhouse/networks/networks.ts";
import { findRange, flattenNetworks } from "@noisefloor/domain/address/ranges.ts";
import type { AddressFacts, NetworkRanges } from "@noisefloor/ingest/rows/enrichment/facts.ts";
import { readStarterNetworks } from "../networks/starter-networks.ts";
import { mix, seededRandom } from "./random.ts";
import type { SimulatedInternet } from "./simulate.ts";
import { openCampaigns } from "./sources/campaigns.ts";
import { openCrawlers } from "./sources/crawlers.ts";
import { readExamples } from "./sources/examples.ts";
import { openNetworks } from "./sources/networks.ts";
import { makeProfiles } from "./sources/profiles.ts";
import { openScanners } from "./sources/sources.ts";

export type InternetOptions = {
  readonly seed: number;
  /** How many scanners come again at any time. */
  readonly sources: number;
  /** The databases of networks and countries, as `openEnricher` opens them. */
  readonly databases: {
    ranges(): NetworkRanges | undefined;
    factsOf(ip: string): AddressFacts;
  };
};

/** Raise it whenever a seed gives other observations than before, else the same ids would stand for different ones. */
const VERSION = 1;

/** Draws the Internet that scans the simulated fleet: the same for the same options and databases. */
export async function openInternet({ seed, sources, databases }: InternetOptions): Promise<SimulatedInternet> {
  const { factsOf } = databases;
  const [examples, services, actors] = await Promise.all([
    readExamples(),
    readStarterNetworks("service"),
    readStarterNetworks("actor"),
  ]);
  const lists = [...services, ...actors];
  const ranges = databases.ranges();
  const networks = openNetworks({ seed, ranges, factsOf, isTaken: isIn(lists) });
  const profiles = makeProfiles(examples, seededRandom(mix(seed, 31)));
  const scanners = openScanners({ seed, sources, networks, profiles });
  const sample = seededRandom(seed);
  const drawn = Array.from({ length: 200 }, () => scanners.oneOff(sample).ip);
  return {
    seed,
    scanners,
    campaigns: openCampaigns({ seed, sources, networks, examples }),
    drawBenign: openCrawlers({ seed, lists, factsOf }),
    factsOf,
    areNetworksReal: networks.areReal,
    fingerprint: hash("sha256", JSON.stringify([VERSION, seed, sources, examples.length, drawn])),
  };
}

/** Scanners rent machines in clouds, too. */
const ANYBODY = "3";

function isIn(lists: readonly NetworkList[]): (address: number) => boolean {
  const ranges = flattenNetworks(
    lists
      .filter(({ trustLevel }) => trustLevel !== ANYBODY)
      .flatMap(({ networks }) => networks.map((network) => ({ ...network, listId: "", priority: 0 }))),
  );
  const bounds = {
    first: Uint32Array.from(ranges, ({ first }) => first),
    last: Uint32Array.from(ranges, ({ last }) => last),
  };
  return (address) => findRange(bounds, address) !== undefined;
}
