/** A heading, or one of a column of numbers. */
export type Heading = string | { readonly number: string };

export function TableHead({ headings }: { readonly headings: readonly Heading[] }) {
  return (
    <thead>
      <tr>
        {headings.map((heading) => {
          const [text, kind] = typeof heading === "string" ? [heading] : [heading.number, "number"];
          return (
            <th key={text} scope="col" class={kind}>
              {text}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
