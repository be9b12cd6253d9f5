import type { Scanner, Service } from "../../api/operations.ts";
import { asnPath, countryPath, networkPath } from "../../routing/paths.ts";
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
  const place = new Set([city, region].filter((part) => part !== "" && part !== country));
  return (
    <Facts
      title="Network and place"
      facts={[
        [
          "Network",
          asn === "" ? shown(organization) : <LinkTo key="asn" href={asnPath(asn)} text={asn} rest={organization} />,
        ],
        neighbours,
        ["Place", shown([...place].join(", "))],
        [
          "Country",
          code === "" ? shown(country) : <LinkTo key="country" href={countryPath(code)} text={country || code} />,
        ],
        ["Reverse DNS", shown(metadata.rdns)],
        ["Operating system", shown(metadata.os)],
        ["Sensors in", values(metadata.destination_countries)],
      ]}
    />
  );
}

type LinkProps = { readonly href: string; readonly text: string; readonly rest?: string };

function LinkTo({ href, text, rest = "" }: LinkProps) {
  return (
    <>
      <a href={href}>
        <Hostile text={text} />
      </a>{" "}
      {shown(rest)}
    </>
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
