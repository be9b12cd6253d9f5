import type { Dataset } from "@noisefloor/domain/access/scope.ts";

/** Every sensor of the simulation is called so: nothing else may be, as `noisefloor simulate --remove` deletes it all. */
export const SENSOR_PREFIX = "demo-";

export type Sensor = {
  readonly id: string;
  readonly dataset: Dataset;
  readonly workspaceId?: string;
  /** It looks the place of a source up itself. */
  readonly knowsPlaces: boolean;
  /** It sees the headers of packets, by which it tells ZMap from others: it sends that tag itself. */
  readonly seesPackets: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
};

type Traits = Partial<Pick<Sensor, "dataset" | "workspaceId" | "knowsPlaces" | "seesPackets">>;

function sensor(name: string, city: string, country: string, traits: Traits = {}): Sensor {
  return {
    id: `${SENSOR_PREFIX}${name}`,
    dataset: "global",
    knowsPlaces: false,
    seesPackets: false,
    metadata: { simulated: true, sensor_city: city, sensor_country: country },
    ...traits,
  };
}

/** The busiest first. The workspace is the one that the first start creates. */
export const SENSORS: readonly Sensor[] = [
  sensor("frankfurt-01", "Frankfurt am Main", "DE", { knowsPlaces: true }),
  sensor("newyork-01", "New York", "US"),
  sensor("singapore-01", "Singapore", "SG", { knowsPlaces: true }),
  sensor("amsterdam-01", "Amsterdam", "NL", { seesPackets: true }),
  sensor("tokyo-01", "Tokyo", "JP"),
  sensor("saopaulo-01", "Sao Paulo", "BR", { knowsPlaces: true }),
  sensor("sanfrancisco-01", "San Francisco", "US", { seesPackets: true }),
  sensor("london-01", "London", "GB"),
  sensor("mumbai-01", "Mumbai", "IN"),
  sensor("sydney-01", "Sydney", "AU", { knowsPlaces: true }),
  sensor("warsaw-01", "Warsaw", "PL"),
  sensor("johannesburg-01", "Johannesburg", "ZA"),
  sensor("partner-prague-01", "Prague", "CZ", { dataset: "community" }),
  sensor("partner-toronto-01", "Toronto", "CA", { dataset: "community", knowsPlaces: true }),
  sensor("office-01", "Frankfurt am Main", "DE", { dataset: "personal", workspaceId: "default" }),
];
