import type { ComponentChildren } from "preact";
import type { WatchEvent } from "../../../api/operations.ts";
import { addressPath, networkPath, searchPath, tagPath } from "../../../routing/paths.ts";
import { ValueLink } from "../../../search/value-search.tsx";
import { Badge } from "../../../shell/badge.tsx";
import { ScrollRegion } from "../../../shell/scroll-region.tsx";
import { type Heading, TableHead } from "../../../shell/table-head.tsx";
import { formatCount, formatMinute } from "../../../text/format.ts";
import { Hostile } from "../../../text/hostile.tsx";
import { TagRise } from "./tag-rise.tsx";

/** What an event lists, with the pages that say more. */
export function EventDetails({ event }: { readonly event: WatchEvent }) {
  switch (event.type) {
    case "network_seen":
      return <Addresses {...event.data} hasNetwork />;
    case "search_matches":
      return (
        <>
          <p>
            They began to match{" "}
            <a href={searchPath(event.data.query)}>
              <code>
                <Hostile text={event.data.query} />
              </code>
            </a>
            .
          </p>
          <Addresses {...event.data} hasNetwork={false} />
        </>
      );
    case "new_value":
      return <Values {...event.data} />;
    case "sensor_silent":
      return (
        <Listed {...event.data} listed={event.data.sensors.length} columns={["Sensor", "Last seen"]}>
          {event.data.sensors.map(({ sensor, last_seen: last }) => (
            <tr key={sensor}>
              <th scope="row">
                <ValueLink field="sensor" value={sensor} />
              </th>
              <td class="when">{formatMinute(last)}</td>
            </tr>
          ))}
        </Listed>
      );
    case "tag_rises":
      return <TagRise {...event.data} />;
    case "test":
      return null;
  }
}

type DataOf<Type extends WatchEvent["type"]> = Extract<WatchEvent, { type: Type }>["data"];
type AddressesProps = Omit<DataOf<"search_matches">, "query"> & { readonly hasNetwork: boolean };

function Addresses({ count, addresses, hasNetwork }: AddressesProps) {
  const columns = ["Address", ...(hasNetwork ? ["Network"] : []), "Classification", "Last seen", "Tags"];
  return (
    <Listed count={count} listed={addresses.length} columns={columns}>
      {addresses.map(({ ip, network = "", classification, last_seen: last, tags }) => (
        <tr key={ip}>
          <th scope="row">
            <a href={addressPath(ip)}>{ip}</a>
          </th>
          {hasNetwork ? (
            <td>
              <NetworkLink network={network} />
            </td>
          ) : null}
          <td>
            <Badge verdict={classification} />
          </td>
          <td class="when">{formatMinute(last)}</td>
          <td class="names">
            {tags.map((slug, index) => (
              <span key={slug}>
                {index === 0 ? "" : ", "}
                <a href={tagPath(slug)}>{slug}</a>
              </span>
            ))}
          </td>
        </tr>
      ))}
    </Listed>
  );
}

function NetworkLink({ network }: { readonly network: string }) {
  const [ip = "", length = ""] = network.split("/");
  return <a href={networkPath(ip, length)}>{network}</a>;
}

const FIELDS = { "raw_data.http.path": "path", cve: "cve", tags: "tag" } as const;

function Values({ field, count, values }: DataOf<"new_value">) {
  const searched = Object.entries(FIELDS).find(([name]) => name === field)?.[1];
  return (
    <Listed count={count} listed={values.length} columns={["Value", { number: "Addresses" }]}>
      {values.map(({ value, addresses }) => (
        <tr key={value}>
          <th scope="row">
            {searched === "tag" ? (
              <a href={tagPath(value)}>{value}</a>
            ) : searched === undefined ? (
              <Hostile text={value} />
            ) : (
              <ValueLink field={searched} value={value} />
            )}
          </th>
          <td class="number">{formatCount(addresses)}</td>
        </tr>
      ))}
    </Listed>
  );
}

type ListedProps = {
  /** Of all, also those that the event does not list. */
  readonly count: number;
  readonly listed: number;
  readonly columns: readonly Heading[];
  readonly children: ComponentChildren;
};

function Listed({ count, listed, columns, children }: ListedProps) {
  return (
    <>
      <ScrollRegion label="What the event found" isTall>
        <table>
          <caption class="hidden">What the event found</caption>
          <TableHead headings={columns} />
          <tbody>{children}</tbody>
        </table>
      </ScrollRegion>
      {listed < count ? (
        <p class="faint">
          The first {formatCount(listed)} of {formatCount(count)}.
        </p>
      ) : null}
    </>
  );
}
