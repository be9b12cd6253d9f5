import type { ComponentChildren } from "preact";
import { useSorted } from "../table/use-sorted.tsx";
import { formatCount, formatShare } from "../text/format.ts";

type Row = {
  readonly key: string;
  readonly name: ComponentChildren;
  /** What the rows are sorted by under the heading of names. */
  readonly sortName: string;
  readonly value: number;
};
type BarListProps = {
  readonly caption: string;
  readonly nameHeading: string;
  readonly rows: readonly Row[];
  /** What shares are of. */
  readonly total: number;
  readonly whenEmpty: string;
};

/** Names with their counts, as a table whose rows have bars. */
export function BarList({ caption, nameHeading, rows, total, whenEmpty }: BarListProps) {
  const { sorted, head } = useSorted(rows, [
    { heading: nameHeading, by: ({ sortName }) => sortName },
    { heading: { number: "Addresses" }, by: ({ value }) => value },
    { heading: { number: "Share" }, by: ({ value }) => value },
  ]);
  if (rows.length === 0) return <p class="empty">{whenEmpty}</p>;
  const highest = Math.max(1, ...rows.map(({ value }) => value));
  return (
    <table class="bars">
      <caption class="hidden">{caption}</caption>
      {head}
      <tbody>
        {sorted.map(({ key, name, value }) => (
          <tr key={key}>
            <th scope="row">
              {name}
              <span class="bar" style={{ width: `${(100 * value) / highest}%` }} />
            </th>
            <td class="number">{formatCount(value)}</td>
            <td class="number faint">{formatShare(value, total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
