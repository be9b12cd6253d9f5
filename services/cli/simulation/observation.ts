import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import type { Content } from "./content.ts";
import type { Sensor } from "./fleet.ts";
import { placeIn } from "./places.ts";
import type { SimulatedInternet, SimulatedObservation } from "./simulate.ts";
import type { Source } from "./sources.ts";

type Sent = Omit<Content, "isSession">;
const sentByContent = new WeakMap<Content, Sent>();

/** The members of an observation with this content. To leave one out for each observation anew would take longer. */
function sentOf(content: Content): Sent {
  const known = sentByContent.get(content);
  if (known !== undefined) return known;
  const { isSession: _isSession, ...sent } = content;
  sentByContent.set(content, sent);
  return sent;
}

/** As the intake calls the row of a session. */
export const observationIdOf = ({ id, content }: Pick<SimulatedObservation, "id" | "content">): string =>
  content.isSession === true ? `session:${id}` : id;

export const sessionIdOf = ({ id, content }: SimulatedObservation): string | undefined =>
  content.isSession === true ? id : undefined;

/** Whether its sensor itself tells that it was a ZMap scan. */
export const isTaggedZmap = ({ source, sensor }: SimulatedObservation): boolean => source.isZmap && sensor.seesPackets;

/** What the sensor sends, as the intake accepts it. */
export function toObservation(internet: SimulatedInternet, simulated: SimulatedObservation): ValidObservation {
  const { observedAt, source, sensor, sourcePort } = simulated;
  const observation: ValidObservation["observation"] = {
    ...sentOf(simulated.content),
    ...aboutSource(internet, source, sensor),
    observed_at: new Date(observedAt).toISOString(),
    observation_id: observationIdOf(simulated),
    sensor_id: sensor.id,
    dataset: sensor.dataset,
    source_ip: source.ip,
    tags: isTaggedZmap(simulated) ? ["zmap"] : [],
    metadata: sensor.metadata,
  };
  if (sensor.workspaceId !== undefined) observation.workspace_id = sensor.workspaceId;
  if (sourcePort !== undefined) observation.source_port = sourcePort;
  const session = sessionIdOf(simulated);
  if (session !== undefined) observation.session_id = session;
  return { observation, observedAt, isFilledIn: false };
}

/** What a sensor finds out about a source itself, by whether it knows places; the intake adds the rest. */
function aboutSource(
  { areNetworksReal, factsOf }: SimulatedInternet,
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
