import type { Today } from "../../api/operations.ts";
import { addressPath, BASE, feedPath, searchPath, watchPath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { formatAgo, formatChange, formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { Listed } from "./listed.tsx";

export function OwnAddresses({ of }: { readonly of: Today["own_addresses"] }) {
  return (
    <Listed
      id="own-addresses"
      heading="Own addresses that scan"
      meaning="They are in networks that you guard, and your sensors saw them: who runs them should know, as they may be infected."
      whenEmpty={
        <>
          No address of your guarded networks was seen scanning. Which these are is in{" "}
          <a href={`${BASE}/feeds`}>Feeds</a>.
        </>
      }
      of={of}
      columns={["Address", "Network", "Classification", "Last seen"]}
      row={({ ip, network, note, classification, last_seen: last }) => (
        <tr key={ip} data-own={ip}>
          <th scope="row">
            <a href={addressPath(ip)}>{ip}</a>
          </th>
          <td>
            {network} <Hostile text={note} />
          </td>
          <td>
            <Badge verdict={classification} />
          </td>
          <td class="when">{formatMinute(last)}</td>
        </tr>
      )}
    />
  );
}

export function SilentSensors({ of }: { readonly of: Today["silent_sensors"] }) {
  const now = Date.now();
  return (
    <Listed
      id="silent-sensors"
      heading="Silent sensors"
      meaning="They have sent nothing for twice as long as their longest pause of seven days: are they running?"
      whenEmpty="None of your sensors fell silent."
      of={of}
      columns={["Sensor", "Sent by", "Last seen"]}
      row={({ name, sensor_id: id, source, last_seen: last }) => (
        <tr key={`${source} ${id} ${name}`} data-silent={id}>
          <th scope="row">
            {id === "" ? (
              <a href={`${BASE}/sensors`}>
                <Hostile text={name} />
              </a>
            ) : (
              <ValueLink field="sensor" value={id} text={name} />
            )}
          </th>
          <td>{source}</td>
          <td class="when">{formatAgo(last, now)}</td>
        </tr>
      )}
    />
  );
}

export function ChangedFeeds({ of }: { readonly of: Today["feeds"] }) {
  return (
    <Listed
      id="changed-feeds"
      heading="Feeds that grew or shrank"
      meaning="Against the list of a day before. One that fell lost half of its addresses at once: is its search still right?"
      whenEmpty="No feed lists more or fewer addresses than a day before."
      of={of}
      columns={["Feed", { number: "Addresses" }, { number: "A day before" }, { number: "Change" }]}
      row={({ name, count, previous_count: before, fell_from: fell, search }) => (
        <tr key={name} data-feed={name}>
          <th scope="row">
            <a href={feedPath(name)}>{name}</a>
            {fell === 0 ? null : (
              <>
                {" "}
                <span class="badge suspicious">fell</span>
              </>
            )}
          </th>
          <td class="number">
            <a href={searchPath(search.query, search.days === 0 ? "" : String(search.days))}>{formatCount(count)}</a>
          </td>
          <td class="number faint">{formatCount(before)}</td>
          <td class="number">{formatChange(count, before)}</td>
        </tr>
      )}
    />
  );
}

export function Events({ of }: { readonly of: Today["events"] }) {
  return (
    <Listed
      id="events"
      heading="Events of your watches"
      meaning="What your watches found, the newest first."
      whenEmpty="Your watches found nothing."
      of={of}
      columns={["When", "Watch", "What"]}
      row={({ id, watch, detected_at: at, summary }) => (
        <tr key={id} data-event={id}>
          <td class="when">{formatMinute(at)}</td>
          <th scope="row">
            <a href={watchPath(watch.id)}>
              <Hostile text={watch.name} />
            </a>
          </th>
          <td>
            <Hostile text={summary} />
          </td>
        </tr>
      )}
    >
      {of === undefined || of.undelivered === 0 ? null : (
        <p class="notice" data-undelivered>
          {plural(of.undelivered, "event has", "events have")} not been delivered: the pages of the watches say why.
        </p>
      )}
    </Listed>
  );
}
