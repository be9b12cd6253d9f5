import type { Today } from "../../api/operations.ts";
import { searchPath, tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { Listed } from "./listed.tsx";

type Search = Today["new_paths"]["entries"][number]["search"];

/** A count as a link to the addresses that it counts. */
function Found({ count, search: { query, days } }: { readonly count: number; readonly search: Search }) {
  return (
    <td class="number">
      <a href={searchPath(query, days === 0 ? "" : String(days))}>{formatCount(count)}</a>
    </td>
  );
}

function TagCells({ slug, name, intention, ...found }: Today["new_tags"]["entries"][number]) {
  return (
    <>
      <th scope="row">
        <a href={tagPath(slug)}>
          <Hostile text={name} />
        </a>
      </th>
      <td>
        <Badge verdict={intention} />
      </td>
      <Found count={found.active_ips} search={found.search} />
    </>
  );
}

type RisingProps = { readonly of: Today["rising_tags"]; readonly comparedDays: number };

export function RisingTags({ of, comparedDays }: RisingProps) {
  return (
    <Listed
      id="rising"
      heading="Rising tags"
      meaning={`More addresses than usual have them. Usual is the median of the ${comparedDays} days before, and the range around it.`}
      whenEmpty={
        comparedDays === 0
          ? "What is usual is not known yet: it takes 14 days of observations."
          : "No tag has more addresses than usual."
      }
      of={of}
      columns={["Tag", "Intention", { number: "Addresses" }, { number: "Usual" }]}
      row={(tag) => (
        <tr key={tag.slug} data-rising={tag.slug}>
          <TagCells {...tag} />
          <td class="number">
            {formatCount(Math.round(tag.expected.median))}{" "}
            <span class="faint">
              ({formatCount(Math.round(tag.expected.low))} to {formatCount(Math.round(tag.expected.high))})
            </span>
          </td>
        </tr>
      )}
    />
  );
}

export function NewTags({ of }: { readonly of: Today["new_tags"] }) {
  return (
    <Listed
      id="new-tags"
      heading="New tags"
      meaning="No address had one of these before."
      whenEmpty="No tag was seen for the first time."
      of={of}
      columns={["Tag", "Intention", { number: "Addresses" }]}
      row={(tag) => (
        <tr key={tag.slug} data-new={tag.slug}>
          <TagCells {...tag} />
        </tr>
      )}
    />
  );
}

export function NewPaths({ of }: { readonly of: Today["new_paths"] }) {
  return (
    <Listed
      id="new-paths"
      heading="New HTTP paths"
      meaning="Nobody asked for them before, and at least three addresses do now: scanners may look for a new weakness."
      whenEmpty="No three addresses asked for a path that nobody had asked for before."
      of={of}
      columns={["Path", { number: "Addresses" }]}
      row={({ path, active_ips, search }) => (
        <tr key={path}>
          <th scope="row">
            <a href={searchPath(search.query)}>
              <Hostile text={path} />
            </a>
          </th>
          <Found count={active_ips} search={search} />
        </tr>
      )}
    />
  );
}

export function NewCves({ of }: { readonly of: Today["new_cves"] }) {
  return (
    <Listed
      id="new-cves"
      heading="New CVEs"
      meaning="Nobody tried to use them before, and at least three addresses do now."
      whenEmpty="No three addresses tried a CVE that nobody had tried before."
      of={of}
      columns={["CVE", { number: "Addresses" }]}
      row={({ cve, active_ips, search }) => (
        <tr key={cve}>
          <th scope="row">
            <a href={searchPath(search.query)}>{cve}</a>
          </th>
          <Found count={active_ips} search={search} />
        </tr>
      )}
    />
  );
}
