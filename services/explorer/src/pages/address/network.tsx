import type { Scanner, Service } from "../../api/operations.ts";
import { asnPath, countryPath, networkPath } from "../../routing/paths.ts";
import { type SearchedField, ValueLink } from "../../search/value-search.tsx";
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
  const { asn, organization, source_city: city, region, source_country: country, source_country_code: code } = metadata;
  // A city may be a region and a country, too.
  const parts = [["city", city] as const, ["region", region === city ? "" : region] as const];
  const place = parts.filter(([, part]) => part !== "" && part !== country);
  return (
    <Facts
      title="Network and place"
      facts={[
        [
          "Network",
          asn === "" ? (
            linked("organization", organization)
          ) : (
            <>
              <a href={asnPath(asn)}>{asn}</a> <ValueLink field="organization" value={organization} />
            </>
          ),
        ],
        neighbours,
        [
          "Place",
          place.length === 0
            ? ""
            : place.map(([field, part], index) => (
                <span key={field}>
                  {index === 0 ? "" : ", "}
                  <ValueLink field={field} value={part} />
                </span>
              )),
        ],
        [
          "Country",
          code === "" ? (
            linked("country", country)
          ) : (
            <a href={countryPath(code)}>
              <Hostile text={country || code} />
            </a>
          ),
        ],
        ["Reverse DNS", linked("rdns", metadata.rdns)],
        ["Operating system", shown(metadata.os)],
        ["Sensors in", values(metadata.destination_countries)],
      ]}
    />
  );
}

function linked(field: SearchedField, value: string) {
  return value.trim() === "" ? "" : <ValueLink field={field} value={value} />;
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
