import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { makeWatch } from "../support/worlds/watching-process.ts";
import { makeTag } from "../support/worlds/world.ts";
import { addressNumber, addressOf } from "./history.ts";

const NETWORKS = 1_000;
/** Addresses that send all the time; every search knows all of them. */
const KNOWN = 100_000;
/** One observation in so many is of an address that was never seen. */
const OBSERVATIONS_PER_NEW = 1_000;
const FIRST_NETWORK = ipv4ToNumber("112.0.0.0");
const FIRST_PROBE = ipv4ToNumber("120.0.0.0");
const WATCHES_PER_INSERT = 50;
const PORTS = [22, 23, 80, 443, 445, 2222, 3389, 8080];
const COUNTRIES = ["CN", "US", "NL", "RU", "BR", "IN", "DE", "VN"];
export const TAGS: readonly Tag[] = Array.from({ length: 20 }, (_, index) => makeTag(`tag-${index}`, "malicious"));

const at = <T>(values: readonly T[], index: number): T => {
  const value = values[index % values.length];
  if (value === undefined) throw new RangeError("no values");
  return value;
};
/** Each address has one tag, port and country, so that what it matches does not change. */
const traitsOf = (number: number) => ({
  tag: at(TAGS, number),
  port: at(PORTS, Math.floor(number / TAGS.length)),
  country: at(COUNTRIES, Math.floor(number / TAGS.length / PORTS.length)),
});

function observationOf(id: string, observedAt: number, ip: string, number: number) {
  const { tag, port, country } = traitsOf(number);
  return {
    observation_id: id,
    observed_at: new Date(observedAt).toISOString(),
    sensor_id: `sensor-${number % 40}`,
    source_ip: ip,
    source_port: 1_024 + (number % 60_000),
    destination_port: port,
    transport: "tcp",
    tags: [tag.id],
    asn: 1 + (number % 3_000),
    organization: `Network ${number % 3_000}`,
    country,
    rdns: `host-${number}.example.net`,
  };
}

/** Observations as sensors send them. @param round of each number has others, and new addresses of its own. */
export function* watchedLoad(round: number, count: number): Generator<WatchedEvent> {
  for (let index = 0; index < count; index++) {
    const isNew = index % OBSERVATIONS_PER_NEW === 0;
    // A prime, so that all of these addresses come once before one of them comes again.
    const number = isNew ? KNOWN * (round + 1) + index / OBSERVATIONS_PER_NEW : (index * 7_919) % KNOWN;
    yield observationOf(`load-${round}-${index}`, Date.now() - (index % 60_000), addressOf(number), number);
  }
}

export type WatchedEvent = ReturnType<typeof observationOf>;

/** Which watches there are: of so many networks each, and of searches. */
export type Watched = {
  readonly networks: readonly Watch[];
  readonly searches: readonly Watch[];
  /** An observation of a watched network, or of an address that begins to match a search, and the watch that tells of it. */
  probe(number: number): {
    readonly watchId: string;
    readonly ip: string;
    readonly observation: WatchedEvent;
  };
};

/** @param share of 100 watches of 1,000 networks each, and of 1,000 watches of a search. */
export function makeWatched(share: number, workspaceId: string, url: string): Watched {
  const sinceAt = Date.now();
  const make = (on: Watch["on"], index: number) =>
    makeWatch(workspaceId, on, {
      sinceAt,
      name: `${on.type} ${index}`,
      deliver: [
        { type: "webhook", id: "hook", isOff: false, addedAt: 0, url, format: "standard", secret: `whsec_${SECRET}` },
      ],
    });
  const networks = Array.from({ length: Math.ceil(100 * share) }, (_, index) =>
    make({ type: "network_seen", networks: networksOf(index) }, index),
  );
  const searches = Array.from({ length: Math.ceil(1_000 * share) }, (_, index) =>
    make({ type: "search_matches", query: queryOf(index) }, index),
  );
  const probe: Watched["probe"] = (number) => {
    const half = Math.floor(number / 2);
    if (number % 2 === 0) {
      const watch = at(networks, half);
      // No multiple of a hundred, whose networks are of the load.
      const ip = networkOf(networks.indexOf(watch) * NETWORKS + 1 + (half % 99)).split("/")[0] ?? "";
      return { watchId: watch.id, ip, observation: observationOf(`probe-${number}`, Date.now(), ip, number) };
    }
    const combined = searches.filter((_, index) => index % KINDS === 0);
    const kind = half % combined.length;
    const ip = numberToIpv4(FIRST_PROBE + number);
    const observation = observationOf(`probe-${number}`, Date.now(), ip, kind);
    return { watchId: at(combined, kind).id, ip, observation };
  };
  return { networks, searches, probe };
}

const SECRET = Buffer.alloc(24, "noisefloor").toString("base64");

const networkOf = (number: number) =>
  number % 100 === 0 ? `${addressOf(number)}/32` : `${numberToIpv4(FIRST_NETWORK + number * 16)}/${28 + (number % 5)}`;
const networksOf = (index: number) => Array.from({ length: NETWORKS }, (_, each) => networkOf(index * NETWORKS + each));

const KINDS = 4;
function queryOf(index: number): string {
  const each = Math.floor(index / KINDS);
  const { tag, port, country } = traitsOf(each);
  switch (index % KINDS) {
    case 0:
      return `tags:${tag.slug} port:${port} source_country_code:${country}`;
    case 1:
      return `asn:AS${each + 1} port:(22 OR 23) last_seen:7d`;
    case 2:
      return `ip:${addressOf(each)}/16 tags:${tag.slug} NOT classification:benign`;
    default:
      return `path:/watched-${each} OR (organization:"Network ${each}" NOT port:${port})`;
  }
}

/** Writes watches, which know every address of the load. */
export async function writeWatched(client: ClickHouseClient, { networks, searches }: Watched): Promise<void> {
  for (let start = 0; start < searches.length; start += WATCHES_PER_INSERT) {
    const some = searches.slice(start, start + WATCHES_PER_INSERT);
    await client.command({
      query: `INSERT INTO watch_known SELECT arrayJoin({ids:Array(UUID)}), fromUnixTimestamp64Milli({at:Int64}, 'UTC'),
        (SELECT arraySort(groupArray(${addressNumber("number")})) FROM numbers(${KNOWN}))`,
      query_params: { ids: some.map(({ id }) => id), at: some[0]?.sinceAt },
    });
  }
  await watchDefinitions.write(client, [...networks, ...searches], Date.now());
}
