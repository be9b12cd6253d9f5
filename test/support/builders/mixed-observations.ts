const HOUR_MS = 3_600_000;

/**
 * Observations over three weeks, of three sensors, with the tags worm and crawler. Every tenth is sent twice, and every
 * twentieth cannot be stored.
 * @param from the number of the first, which says what is in it.
 */
export function mixedObservations(now: number, from: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index - (index % 10 === 1 ? 1 : 0);
    return {
      observation_id: `o-${number}`,
      observed_at: new Date(now - ((number * 37) % 400) * HOUR_MS).toISOString(),
      sensor_id: `sensor-${number % 3}`,
      source_ip: index % 20 === 7 ? "10.0.0.1" : `45.${number & 3}.${(number * 7) & 255}.${(number * 13) & 255}`,
      tags: number % 4 === 0 ? [] : number % 4 === 1 ? ["worm"] : ["worm", "crawler"],
      destination_port: number & 1023,
      http: { path: `/${number}`, user_agent: "probe" },
    };
  });
}
