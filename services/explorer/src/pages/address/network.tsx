import type { Scanner, Service } from "../../api/operations.ts";
import { formatMinute } from "../../text/format.ts";
import { Hostile, Prose, Reference } from "../../text/hostile.tsx";
import { Facts, values } from "./facts.tsx";

export function Network({ metadata }: { readonly metadata: Scanner["metadata"] }) {
  if (!("asn" in metadata)) return null;
  // A city may be a region and a country, too.
  const place = new Set([metadata.source_city, metadata.region, metadata.source_country].filter((part) => part !== ""));
  return (
    <Facts
      title="Network and place"
      facts={[
        ["Network", shown(`${metadata.asn} ${metadata.organization}`)],
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
