import type { Sensor } from "../../api/operations.ts";
import { newWatchPath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatAgo, formatCount, formatShare } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

type SensorTableProps = { readonly sensors: readonly Sensor[]; readonly now: number };

const COLUMNS: readonly Column<Sensor>[] = [
  { heading: "Sensor", by: ({ name }) => name },
  { heading: "State", by: ({ state }) => state },
  { heading: "Last seen", by: ({ last_seen: last }) => last },
  { heading: "Sent by", by: ({ source }) => source },
  { heading: { number: "Per hour" }, by: ({ accepted_per_hour: rate }) => rate },
  { heading: { number: "Accepted" }, by: ({ seven_days: { accepted } }) => accepted },
  { heading: { number: "Rejected" }, by: ({ seven_days: { rejected } }) => rejected },
  { heading: "Why", by: ({ seven_days: { reasons } }) => formatReasons(reasons) },
  { heading: "Formats", by: ({ formats }) => formats.join() },
];

export function SensorTable({ sensors, now }: SensorTableProps) {
  const { sorted, head } = useSorted(sensors, COLUMNS);
  return (
    <section>
      <ScrollRegion label="Sensors">
        <table class="catalogue">
          <caption class="hidden">The sensors of the last seven days</caption>
          {head}
          <tbody>
            {sorted.map((sensor) => (
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
        <ValueLink field="sensor" value={sensor.sensor_id} text={sensor.name} />
      </th>
      <td>
        <span class={`badge ${sensor.state}`}>{sensor.state}</span>{" "}
        {sensor.sensor_id === "" ? null : (
          <a href={newWatchPath("sensor_silent", sensor.sensor_id)}>
            Watch
            <span class="hidden">
              {" "}
              <Hostile text={sensor.name} />
            </span>
          </a>
        )}
      </td>
      <td class="when">{formatAgo(sensor.last_seen, now)}</td>
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

/** The most frequent first. */
function formatReasons(reasons: Sensor["today"]["reasons"]): string {
  return Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${formatCount(count)}`)
    .join(", ");
}
