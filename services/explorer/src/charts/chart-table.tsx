import { ScrollRegion } from "../shell/scroll-region.tsx";
import { useSorted } from "../table/use-sorted.tsx";
import { formatCount, formatMinute } from "../text/format.ts";

type Row = { readonly start: string; readonly end: string; readonly values: readonly number[] };
type ChartTableProps = {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly rows: readonly Row[];
  /** Called with the number of the row whose addresses are wanted. */
  readonly onPick?: ((row: number) => void) | undefined;
};

/** What a chart shows, for keyboards and screen readers, and for those who want the numbers. */
export function ChartTable({ caption, headings, rows, onPick }: ChartTableProps) {
  const { sorted, head } = useSorted(
    rows.map((one, row) => ({ ...one, row })),
    [
      { heading: "From (UTC)", by: ({ start }) => start },
      { heading: "To (UTC)", by: ({ end }) => end },
      ...headings.map((number, n) => ({ heading: { number }, by: ({ values }: Row) => values[n] })),
      ...(onPick === undefined ? [] : [{ heading: "List" }]),
    ],
  );
  return (
    <details class="numbers">
      <summary>The same in numbers</summary>
      <ScrollRegion label={caption} isTall>
        <table>
          <caption class="hidden">{caption}</caption>
          {head}
          <tbody>
            {sorted.map(({ start, end, values, row }) => (
              <tr key={start}>
                <td class="when">{formatMinute(start)}</td>
                <td class="when">{formatMinute(end)}</td>
                {values.map((value, column) => (
                  <td key={headings[column]} class="number">
                    {formatCount(value)}
                  </td>
                ))}
                {onPick === undefined ? null : (
                  <td>
                    <button type="button" class="link" onClick={() => onPick(row)}>
                      Addresses<span class="hidden"> from {formatMinute(start)}</span>
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </details>
  );
}
