import type { ComponentChildren } from "preact";
import { TableHead } from "../shell/table-head.tsx";
import { formatCount, formatShare } from "../text/format.ts";

type Row = { readonly key: string; readonly name: ComponentChildren; readonly value: number };
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
  if (rows.length === 0) return <p class="empty">{whenEmpty}</p>;
  const highest = Math.max(1, ...rows.map(({ value }) => value));
  return (
    <table class="bars">
      <caption class="hidden">{caption}</caption>
      <TableHead headings={[nameHeading, { number: "Addresses" }, { number: "Share" }]} />
      <tbody>
        {rows.map(({ key, name, value }) => (
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
