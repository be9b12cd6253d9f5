import type { ComponentChildren } from "preact";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Heading, TableHead } from "../../shell/table-head.tsx";
import { formatCount } from "../../text/format.ts";

type ListedProps<Entry> = {
  readonly id: string;
  readonly heading: string;
  /** What an entry is, and what to do about it, in one sentence. */
  readonly meaning: string;
  readonly whenEmpty: ComponentChildren;
  /** Undefined where the service leaves the list out. */
  readonly of: { readonly count: number; readonly entries: readonly Entry[] } | undefined;
  readonly columns: readonly Heading[];
  /** A row of the table, with a cell a column. */
  readonly row: (entry: Entry) => ComponentChildren;
  /** What else there is to say, below its heading. */
  readonly children?: ComponentChildren;
};

/** A list of the day, which may be cut, with what it means. */
export function Listed<Entry>({ id, heading, meaning, whenEmpty, of, columns, row, children }: ListedProps<Entry>) {
  if (of === undefined) return null;
  const { count, entries } = of;
  return (
    <section aria-labelledby={id} data-count={count}>
      <h3 id={id}>
        {heading}
        {count === 0 ? "" : `: ${formatCount(count)}`}
      </h3>
      {children}
      {count === 0 ? (
        <p class="empty">{whenEmpty}</p>
      ) : (
        <>
          <p class="faint">{meaning}</p>
          <ScrollRegion label={heading}>
            <table>
              <caption class="hidden">{heading}</caption>
              <TableHead headings={columns} />
              <tbody>{entries.map(row)}</tbody>
            </table>
          </ScrollRegion>
          {entries.length < count ? (
            <p class="faint hint">
              The first {entries.length} of {formatCount(count)}.
            </p>
          ) : null}
        </>
      )}
    </section>
  );
}
