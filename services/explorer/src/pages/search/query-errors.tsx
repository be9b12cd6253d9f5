import type { QueryValidation } from "../../api/operations.ts";
import { Hostile } from "../../text/hostile.tsx";

type QueryErrorsProps = Pick<QueryValidation, "query" | "errors">;

/** What is wrong with a query, each error under the part that it is about. */
export function QueryErrors({ query, errors }: QueryErrorsProps) {
  return (
    <div class="notice failure" role="alert" id="query-errors">
      <h2>This query cannot be run</h2>
      <ol>
        {errors.map(({ message, position, length }) => (
          <li key={`${position} ${message}`}>
            <p>
              <Hostile text={message} />
            </p>
            <pre>
              <Marked query={query} from={position} end={position + length} />
            </pre>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** How much of the query is shown before and after an error. */
const AROUND = 60;

type MarkedProps = { readonly query: string; readonly from: number; readonly end: number };

function Marked({ query, from, end }: MarkedProps) {
  const start = Math.max(0, from - AROUND);
  const wrong = query.slice(from, end);
  return (
    <>
      {start > 0 ? "…" : ""}
      <bdi>{query.slice(start, from)}</bdi>
      <mark>{wrong === "" ? " " : wrong}</mark>
      <bdi>{query.slice(end, end + AROUND)}</bdi>
      {end + AROUND < query.length ? "…" : ""}
    </>
  );
}
