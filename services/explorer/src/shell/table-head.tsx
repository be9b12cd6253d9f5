/** A heading, or one of a column of numbers. */
export type Heading = string | { readonly number: string };

export const textOf = (heading: Heading) => (typeof heading === "string" ? heading : heading.number);

type TableHeadProps = {
  readonly headings: readonly Heading[];
  /** Without it, the table is not sorted. */
  readonly sort?: {
    isSortable(heading: string): boolean;
    /** The direction of the column by which the table is sorted; undefined for all others. */
    directionOf(heading: string): "ascending" | "descending" | undefined;
    toggle(heading: Heading): void;
  };
};

export function TableHead({ headings, sort }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {headings.map((heading) => {
          const text = textOf(heading);
          const direction = sort?.directionOf(text);
          return (
            <th key={text} scope="col" class={typeof heading === "string" ? undefined : "number"} aria-sort={direction}>
              {sort?.isSortable(text) === true ? (
                <button type="button" class="sort" onClick={() => sort.toggle(heading)}>
                  {text}
                  <span aria-hidden="true">
                    {direction === undefined ? "" : direction === "ascending" ? " ▲" : " ▼"}
                  </span>
                </button>
              ) : (
                text
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
