/** The required members of an observation, and any others. */
export type SentObservation = { observed_at: string; sensor_id: string; source_ip: string; [member: string]: unknown };

/** @param at when it was seen, in milliseconds since 1970 UTC. */
export function observation(ip: string, at: number, members: object = {}): SentObservation {
  return { observed_at: new Date(at).toISOString(), sensor_id: "s", source_ip: ip, ...members };
}

/** The same as a line of NDJSON. */
export function observationLine(ip: string, at: number, members: object = {}): string {
  return JSON.stringify(observation(ip, at, members));
}

/** One of 65,536 routable addresses. */
export function addressOf(number: number, second = 0): string {
  return `45.${second}.${number >> 8}.${number & 255}`;
}
