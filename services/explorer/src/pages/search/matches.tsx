import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { useState } from "preact/hooks";
import { ask } from "../../api/ask.ts";
import { ApiFailure } from "../../api/failure.ts";
import { useKey } from "../../api/kept-key.ts";
import type { SearchPage } from "../../api/operations.ts";
import { plansOfService, searchMetadataOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath, newWatchPath, pagePath } from "../../routing/paths.ts";
import { FieldValue, type Search } from "../../search/narrowing-value.tsx";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { downloadMatches, FORMATS } from "./download.ts";

/** Each listed address is a lookup. */
const SIZE = 25;

type MatchesProps = {
  readonly search: Search;
  /** Whether its reader is still typing the query. */
  readonly isTyped: boolean;
};
/** What was listed by buttons: pages before, and the token of the current one. */
type Listed = { readonly of: string; readonly before: readonly Row[]; readonly scroll: string };

/** The addresses that match, more of them as they are asked for. Each is a lookup: who has few of them asks first. */
export function Matches({ search, isTyped }: MatchesProps) {
  const { query, days } = search;
  const [listed, setListed] = useState<Listed>();
  const asksFirst = useAsksFirst(isTyped);
  const { before, scroll } = listed?.of === query ? listed : { before: [], scroll: asksFirst ? undefined : "" };
  const page = useAnswer(scroll === undefined ? undefined : searchMetadataOf(query, days, SIZE, scroll));
  const isOutdated = page.data !== undefined && page.data.request_metadata.query !== query;
  const shown = isOutdated && before.length > 0 ? [] : (page.data?.data ?? []);
  // For a moment the page before is still there.
  const rows = [...new Map([...before, ...shown].map((row) => [row.ip, row])).values()];
  const { count = 0, scroll: next = "" } = page.data?.request_metadata ?? {};
  return (
    <section aria-labelledby="matches">
      <div class="bar-of-choices">
        <h2 id="matches">Addresses</h2>
        <a href={pagePath("/feeds", { query, days })}>Make a feed of them</a>
        <a href={newWatchPath("search_matches", query)}>Watch this search</a>
        <Downloads {...search} />
      </div>
      {rows.length === 0 ? null : (
        <div class={isOutdated ? "outdated" : ""}>
          <Rows rows={rows} search={search} />
        </div>
      )}
      {scroll === undefined ? (
        <p>
          <button type="button" onClick={() => setListed({ of: query, before: [], scroll: "" })}>
            List the first {SIZE}, each of which is a lookup
          </button>
        </p>
      ) : (
        <Loaded of={page} what="the addresses">
          {() =>
            rows.length === 0 ? (
              <p class="empty">No address matches.</p>
            ) : (
              <p>
                {next === "" ? null : (
                  <button type="button" onClick={() => setListed({ of: query, before: rows, scroll: next })}>
                    Show {SIZE} more
                  </button>
                )}{" "}
                <span class="faint">
                  {formatCount(rows.length)} of {plural(count, "address", "addresses")}; headings sort those that are
                  listed.
                </span>
              </p>
            )
          }
        </Loaded>
      )}
    </section>
  );
}

/** Callers without a key have few lookups, and those of a plan that limits them would spend many while they type. */
function useAsksFirst(isTyped: boolean): boolean {
  const { key } = useKey();
  const plans = useAnswer(isTyped && key !== "" ? plansOfService() : undefined);
  const isUnlimited = plans.data !== undefined && plans.data.caller.lookups_per_day === undefined;
  return key === "" || (isTyped && !isUnlimited);
}

type Row = SearchPage["data"][number];

const metadataOf = ({ internet_scanner_intelligence: { metadata } }: Row) =>
  metadata !== undefined && "asn" in metadata ? metadata : undefined;

const COLUMNS: readonly Column<Row>[] = [
  { heading: "Address", by: ({ ip }) => ip },
  {
    heading: "Verdict",
    by: ({ internet_scanner_intelligence: { classification = "" } }) =>
      WORST_FIRST.indexOf(classification === "" ? "unknown" : classification),
  },
  { heading: "Last seen", by: ({ internet_scanner_intelligence: scanner }) => scanner.last_seen_timestamp },
  { heading: "Tags", by: ({ internet_scanner_intelligence: { tags = [] } }) => tags.length },
  { heading: "Organization", by: (row) => metadataOf(row)?.organization || undefined },
  { heading: "Country", by: (row) => metadataOf(row)?.source_country || undefined },
];

function Rows({ rows, search }: { readonly rows: readonly Row[]; readonly search: Search }) {
  const { sorted, head } = useSorted(rows, COLUMNS);
  return (
    <ScrollRegion label="Addresses that match">
      <table data-page>
        <caption class="hidden">Addresses that match</caption>
        {head}
        <tbody>
          {sorted.map((row) => {
            const {
              classification = "",
              spoofable = false,
              last_seen_timestamp: last = "",
              tags = [],
            } = row.internet_scanner_intelligence;
            const metadata = metadataOf(row);
            const verdict = classification === "" ? "unknown" : classification;
            return (
              <tr key={row.ip}>
                <th scope="row">
                  <a href={addressPath(row.ip)}>{row.ip}</a>
                </th>
                <td>
                  <FieldValue search={search} field="classification" value={verdict}>
                    <Badge verdict={verdict} />
                  </FieldValue>
                  {spoofable ? (
                    <>
                      {" "}
                      <FieldValue search={search} field="spoofable" value="true" text="could be forged" />
                    </>
                  ) : null}
                </td>
                <td class="when">{formatMinute(last)}</td>
                <td class="names">
                  {tags.map(({ slug = "", name = slug }, index) => (
                    <span key={slug}>
                      {index === 0 ? "" : ", "}
                      <FieldValue search={search} field="tag" value={slug} text={name} />
                    </span>
                  ))}
                </td>
                <td class="name">
                  <FieldValue search={search} field="organization" value={metadata?.organization ?? ""} />
                </td>
                <td class="name">
                  <FieldValue
                    search={search}
                    field="country_code"
                    value={metadata?.source_country_code ?? ""}
                    text={metadata?.source_country ?? ""}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** All matches as a file, which the page makes of the pages of the search. */
function Downloads({ query, days }: Search) {
  const { key } = useKey();
  const [progress, setProgress] = useState("");
  const [isRunning, setIsRunning] = useState(false);
  const save = async (format: (typeof FORMATS)[number]) => {
    setIsRunning(true);
    try {
      const saved = await downloadMatches(
        format,
        (scroll, size) => ask(searchMetadataOf(query, days, size, scroll), key, new AbortController().signal),
        (done, total) => setProgress(`${formatCount(done)} of ${formatCount(total)}`),
      );
      setProgress(`Saved ${plural(saved, "address", "addresses")}.`);
    } catch (error) {
      setProgress(error instanceof ApiFailure ? error.message || "The service did not answer." : String(error));
    } finally {
      setIsRunning(false);
    }
  };
  return (
    <>
      {FORMATS.map((format) => (
        <button key={format} type="button" class="quiet" disabled={isRunning} onClick={() => void save(format)}>
          Download all as {format}
        </button>
      ))}
      <span class="faint" role="status">
        <Hostile text={progress} />
      </span>
    </>
  );
}
