import type { SearchStats } from "../../api/operations.ts";
import { searchStatsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { BarList } from "../../charts/bar-list.tsx";
import { Split } from "../../charts/split.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { comparePath, searchPath } from "../../routing/paths.ts";
import { narrow } from "../../search/narrow.ts";
import { FieldValue, type Search } from "../../search/narrowing-value.tsx";
import { conditionOn, type SearchedField } from "../../search/value-search.tsx";
import { plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

/** How many entries each list shows. */
const ENTRIES = 10;

/** How many addresses match, and what they have in common; each value narrows the query. Costs no lookup. */
export function QueryStats({ search }: { readonly search: Search }) {
  const stats = useAnswer(searchStatsOf(search.query, search.days, ENTRIES));
  return (
    <section aria-labelledby="in-common">
      <h2 id="in-common">What they have in common</h2>
      <Loaded of={stats} what="what the addresses have in common">
        {(found) => <Found search={search} found={found} />}
      </Loaded>
    </section>
  );
}

type FoundProps = { readonly search: Search; readonly found: SearchStats };

function Found({ search, found }: FoundProps) {
  const { query, days } = search;
  const { count, stats, adjusted_query: adjusted } = found;
  const listOf = (
    heading: string,
    field: SearchedField,
    entries: readonly (readonly [name: string, value: string, count: number])[],
  ) => (
    <section>
      <BarList
        caption={`Addresses by ${heading.toLowerCase()}`}
        nameHeading={heading}
        total={count}
        whenEmpty={`None has a ${heading.toLowerCase()}.`}
        rows={entries.map(([name, value, addresses]) => ({
          key: value,
          sortName: name,
          value: addresses,
          name: <FieldValue search={search} field={field} value={value} text={name} />,
        }))}
      />
    </section>
  );
  return (
    <>
      <p data-matches role="status">
        <strong>{plural(count, "address", "addresses")}</strong> {count === 1 ? "matches" : "match"}.
      </p>
      <p>
        <a href={comparePath(query)}>Over time, beside another search</a>
      </p>
      {adjusted === "" ? null : (
        <p class="notice">
          The query was adjusted. What ran: <Hostile text={adjusted} />
        </p>
      )}
      {count === 0 ? null : (
        <>
          <Split
            parts={stats.classifications.map(({ classification, count: addresses }) => ({ classification, addresses }))}
            total={count}
            pathOf={(classification) => searchPath(narrow(query, conditionOn("classification", classification)), days)}
          />
          <div class="grid">
            {listOf(
              "Tag",
              "tag",
              stats.tags.map(({ tag, id, count: addresses }) => [tag, id, addresses]),
            )}
            {listOf(
              "Network",
              "asn",
              stats.asns.map(({ asn, count: addresses }) => [asn, asn, addresses]),
            )}
            {listOf(
              "Organization",
              "organization",
              stats.organizations.map(({ organization: name, count: addresses }) => [name, name, addresses]),
            )}
            {listOf(
              "Country",
              "country",
              stats.countries.map(({ country: name, count: addresses }) => [name, name, addresses]),
            )}
          </div>
        </>
      )}
    </>
  );
}
