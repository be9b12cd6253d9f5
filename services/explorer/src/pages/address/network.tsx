import type { Scanner, Service } from "../../api/operations.ts";
import { networkPath } from "../../routing/paths.ts";
import { formatMinute } from "../../text/format.ts";
import { Hostile, Prose, Reference } from "../../text/hostile.tsx";
import { Facts, values } from "./facts.tsx";

type NetworkProps = { readonly ip: string; readonly metadata: Scanner["metadata"] };

/** Where an address is, and the way to its neighbours, also of one that was not seen. */
export function Network({ ip, metadata }: NetworkProps) {
  const first = ip.replace(/\d+$/, "0");
  const neighbours = [
    "Neighbours",
    <a key="neighbours" href={networkPath(first, "24")}>
      {first}/24
    </a>,
  ] as const;
  if (!("asn" in metadata)) return <Facts title="Network" facts={[neighbours]} />;
  // A city may be a region and a country, too.
  const place = new Set([metadata.source_city, metadata.region, metadata.source_country].filter((part) => part !== ""));
  return (
    <Facts
      title="Network and place"
      facts={[
        ["Network", shown(`${metadata.asn} ${metadata.organization}`)],
        neighbours,
        ["Place", shown([...place].join(", "))],
        ["Reverse DNS", shown(metadata.rdns)],
        ["Operating system", shown(metadata.os)],
        ["Sensors in", values(metadata.destination_countries)],
      ]}
    />
  );
}

export function BenignService({ service }: { readonly service: Service }) {
  return (
    <Facts
      title="Benign service"
      facts={[
        ["Name", shown(service.name)],
        ["Category", shown(service.category)],
        ["Description", service.description === "" ? "" : <Prose text={service.description} />],
        ["Explanation", service.explanation === "" ? "" : <Prose text={service.explanation} />],
        ["Trust level", shown(service.trust_level)],
        ["Reference", service.reference === "" ? "" : <Reference text={service.reference} />],
        ["List updated", formatMinute(service.last_updated)],
      ]}
    />
  );
}

function shown(text: string) {
  return text.trim() === "" ? "" : <Hostile text={text} />;
}
