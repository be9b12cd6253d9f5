import type { Entry } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import { MAX_CONDITIONS, MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { pagePath, searchPath } from "../../routing/paths.ts";
import { formatCount } from "../../text/format.ts";

/** The list as a query; undefined where it is too long for one, or has no address. */
export function queryOfList(entries: readonly Entry[]): string | undefined {
  const texts = entries.flatMap(({ kind, text }) => (kind === "address" || kind === "network" ? [text] : []));
  const query = texts.length === 1 ? `ip:${texts[0]}` : `ip:(${texts.join(" OR ")})`;
  return texts.length === 0 || texts.length > MAX_CONDITIONS || query.length > MAX_QUERY_LENGTH ? undefined : query;
}

/** From the list to a search, which conditions can be added to, and to a feed. */
export function GoOn({ entries }: { readonly entries: readonly Entry[] }) {
  const query = queryOfList(entries);
  if (query !== undefined) {
    return (
      <p>
        <a href={searchPath(query)}>Search these addresses</a>, or{" "}
        <a href={pagePath("/feeds", { query })}>make a feed of them</a>.
      </p>
    );
  }
  return entries.length <= 1 ? null : (
    <p class="faint">
      A shorter list becomes a search or a feed: at most {formatCount(MAX_QUERY_LENGTH)} characters and{" "}
      {formatCount(MAX_CONDITIONS)} addresses.
    </p>
  );
}
