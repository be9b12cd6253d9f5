import { Hostile } from "../text/hostile.tsx";

/** What can match nothing in a query, or hardly what was meant. */
export function QueryWarnings({ warnings }: { readonly warnings: readonly string[] }) {
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="notice">
          <Hostile text={warning} />
        </p>
      ))}
    </>
  );
}
