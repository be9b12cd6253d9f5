import { LISTED_MEMBERS } from "@noisefloor/domain/observation/members.ts";
import type { SearchValues } from "../../api/operations.ts";
import { searchValuesOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { BarList } from "../../charts/bar-list.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { NarrowingValue, type Search } from "../../search/narrowing-value.tsx";
import { conditionOn, type SearchedField } from "../../search/value-search.tsx";

/** How many entries each list shows. */
const ENTRIES = 10;

/** What the matching addresses did: ports, paths, agents and fingerprints; each narrows the query. Costs no lookup. */
export function QueryValues({ search }: { readonly search: Search }) {
  const values = useAnswer(searchValuesOf(search.query, search.days, ENTRIES));
  return (
    <section aria-labelledby="what-they-did">
      <h2 id="what-they-did">What they did</h2>
      <Loaded of={values} what="what the addresses did">
        {({ count, values: found }) => (count === 0 ? null : <Lists {...{ search, count, found }} />)}
      </Loaded>
    </section>
  );
}

type ListsProps = {
  readonly search: Search;
  readonly count: number;
  readonly found: SearchValues["values"];
};
type Entry = readonly [name: string, condition: string, addresses: number];

function Lists({ search, count, found }: ListsProps) {
  const on = (field: SearchedField, entries: readonly { readonly value: string; readonly count: number }[]) =>
    entries.map(({ value, count: addresses }): Entry => [value, conditionOn(field, value), addresses]);
  const ports = found.ports.map(
    ({ port, protocol, count: addresses }): Entry => [
      `${port}${protocol === "" ? "" : `/${protocol}`}`,
      `port:${port}${protocol === "" ? "" : ` protocol:${protocol}`}`,
      addresses,
    ],
  );
  const lists: readonly (readonly [heading: string, entries: readonly Entry[]])[] = [
    ["Port", ports],
    ...LISTED_MEMBERS.map(({ field, list: [name, heading] }) => [heading, on(field, found[name])] as const),
  ];
  return (
    <div class="grid">
      {lists.map(([heading, entries]) => (
        <section key={heading}>
          <BarList
            caption={`Addresses by ${heading}`}
            nameHeading={heading}
            total={count}
            whenEmpty={`None has a ${heading}.`}
            rows={entries.map(([name, condition, addresses]) => ({
              key: name,
              sortName: name,
              value: addresses,
              name: <NarrowingValue search={search} condition={condition} text={name} />,
            }))}
          />
        </section>
      ))}
    </div>
  );
}
