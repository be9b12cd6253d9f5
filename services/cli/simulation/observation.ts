import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import type { AddressFacts } from "@noisefloor/ingest/rows/enrichment/facts.ts";
import type { Sensor } from "./fleet.ts";
import type { Content } from "./sources/content.ts";
import { placeIn } from "./sources/places.ts";
import type { Source } from "./sources/sources.ts";

/** What a source does at a sensor. */
export type Visit = {
  /** Its own, or that of its session. */
  readonly id: string;
  /** In milliseconds since 1970 UTC. */
  readonly observedAt: number;
  readonly source: Source;
  readonly sensor: Sensor;
  readonly content: Content;
  readonly sourcePort: number | undefined;
};

/** Where sources are. */
export type KnownPlaces = {
  readonly factsOf: (ip: string) => AddressFacts;
  /** Whether the intake finds the countries of sources; if not, sensors send them. */
  readonly areNetworksReal: boolean;
};

/** What the sensor sends, as the intake accepts it. */
export function toObservation(places: KnownPlaces, visit: Visit): ValidObservation {
  const { id, observedAt, source, sensor, sourcePort } = visit;
  const { isSession = false, ...content } = visit.content;
  const observation: ValidObservation["observation"] = {
    ...content,
    ...aboutSource(places, source, sensor),
    observed_at: new Date(observedAt).toISOString(),
    // As the intake calls the row of a session.
    observation_id: isSession ? `session:${id}` : id,
    sensor_id: sensor.id,
    dataset: sensor.dataset,
    source_ip: source.ip,
    tags: source.isZmap && sensor.seesPackets ? ["zmap-client-scanner"] : [],
    metadata: sensor.metadata,
  };
  if (sensor.workspaceId !== undefined) observation.workspace_id = sensor.workspaceId;
  // A darknet has no answer for a SYN; whoever is let in by a honeypot has completed a handshake.
  if (content.transport === "tcp" && !sensor.seesPackets) observation.established = true;
  if (sourcePort !== undefined) observation.source_port = sourcePort;
  if (isSession) observation.session_id = id;
  return { observation, observedAt, isFilledIn: false };
}

/** What a sensor finds out about a source itself, by whether it knows places; the intake adds the rest. */
function aboutSource(
  { areNetworksReal, factsOf }: KnownPlaces,
  { ip, country, number, rdns }: Source,
  { knowsPlaces }: Sensor,
): Partial<ValidObservation["observation"]> {
  const named = namesOf(ip, rdns, knowsPlaces && number % 4 === 0);
  if (country === undefined) return named;
  if (!knowsPlaces) return areNetworksReal ? named : { ...named, country };
  const { asn, organization } = areNetworksReal ? factsOf(ip) : {};
  const network = { ...(asn !== undefined && { asn }), ...(organization !== undefined && { organization }) };
  return { ...named, ...network, country, ...placeIn(country, number) };
}

/** Crawlers have names that lead back to their addresses; of others, some sensors know a name. */
function namesOf(ip: string, crawlerName: string | undefined, isNameKnown: boolean) {
  if (crawlerName !== undefined) return { rdns: crawlerName, rdns_validated: true };
  return isNameKnown ? { rdns: `host-${ip.replaceAll(".", "-")}.example.net` } : {};
}
