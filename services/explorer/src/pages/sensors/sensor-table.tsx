import type { Sensor } from "../../api/operations.ts";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { formatAgo, formatCount, formatShare } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

type SensorTableProps = { readonly sensors: readonly Sensor[]; readonly now: number };

export function SensorTable({ sensors, now }: SensorTableProps) {
  return (
    <section>
      <ScrollRegion label="Sensors">
        <table class="catalogue">
          <caption class="hidden">The sensors of the last seven days</caption>
          <thead>
            <tr>
              <th scope="col">Sensor</th>
              <th scope="col">State</th>
              <th scope="col">Last seen</th>
              <th scope="col">Sent by</th>
              <th scope="col" class="number">
                Per hour
              </th>
              <th scope="col" class="number">
                Accepted
              </th>
              <th scope="col" class="number">
                Rejected
              </th>
              <th scope="col">Why</th>
              <th scope="col">Formats</th>
            </tr>
          </thead>
          <tbody>
            {sensors.map((sensor) => (
              <SensorRow key={`${sensor.source} ${sensor.key} ${sensor.sensor_id}`} sensor={sensor} now={now} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function SensorRow({ sensor, now }: { readonly sensor: Sensor; readonly now: number }) {
  const { accepted, rejected, reasons } = sensor.seven_days;
  return (
    <tr data-sensor={sensor.sensor_id}>
      <th scope="row">
        <Hostile text={nameOf(sensor)} />
      </th>
      <td>
        <span class={`badge ${sensor.state === "silent" ? "malicious" : "benign"}`}>{sensor.state}</span>
      </td>
      <td>{formatAgo(sensor.last_seen, now)}</td>
      <td>{sensor.source}</td>
      <td class="number">{formatCount(Math.round(sensor.accepted_per_hour))}</td>
      <td class="number">{formatCount(accepted)}</td>
      <td class="number">
        {rejected === 0 ? "0" : `${formatCount(rejected)} (${formatShare(rejected, accepted + rejected)})`}
      </td>
      <td>
        <Hostile text={formatReasons(reasons)} />
      </td>
      <td>{sensor.formats.join(", ")}</td>
    </tr>
  );
}

function nameOf({ is_rest: isRest, sensor_id: id, label, key }: Sensor): string {
  if (isRest) return "(all others)";
  return id || label || key || "(no name)";
}

/** The most frequent first. */
function formatReasons(reasons: Sensor["today"]["reasons"]): string {
  return Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${formatCount(count)}`)
    .join(", ");
}
