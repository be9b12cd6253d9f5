import type { SearchStats } from "../../api/operations.ts";
import { searchStatsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { BarList } from "../../charts/bar-list.tsx";
import { Split } from "../../charts/split.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { comparePath, searchPath } from "../../routing/paths.ts";
import { conditionOn, type SearchedField } from "../../search/value-search.tsx";
import { plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

/** How many entries each list shows. */
const ENTRIES = 10;

type QueryStatsProps = { readonly query: string; readonly days: string };

/** How many addresses match, and what they have in common; each value narrows the query. Costs no lookup. */
export function QueryStats({ query, days }: QueryStatsProps) {
  const stats = useAnswer(searchStatsOf(query, days, ENTRIES));
  return (
    <section aria-labelledby="in-common">
      <h2 id="in-common">What they have in common</h2>
      <Loaded of={stats} what="what the addresses have in common">
        {(found) => <Found query={query} days={days} found={found} />}
      </Loaded>
    </section>
  );
}

function Found({ query, days, found }: QueryStatsProps & { readonly found: SearchStats }) {
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
          name: (
            <a href={searchPath(`(${query}) ${conditionOn(field, value)}`, days)}>
              <Hostile text={name} />
            </a>
          ),
        }))}
      />
    </section>
  );
  return (
    <>
      <p data-matches>
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
