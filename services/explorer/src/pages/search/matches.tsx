import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { useState } from "preact/hooks";
import { ask } from "../../api/ask.ts";
import { ApiFailure } from "../../api/failure.ts";
import { useKey } from "../../api/kept-key.ts";
import type { SearchPage } from "../../api/operations.ts";
import { searchMetadataOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath, pagePath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { downloadMatches, FORMATS } from "./download.ts";

/** Each listed address is a lookup. */
const SIZE = 25;

type MatchesProps = { readonly query: string; readonly days: string };

/** The addresses that match, more of them as they are asked for. Callers without a key have few lookups, so they ask first. */
export function Matches({ query, days }: MatchesProps) {
  const { key } = useKey();
  const [kept, setKept] = useState<readonly Row[]>([]);
  const [scroll, setScroll] = useState(key === "" ? undefined : "");
  const page = useAnswer(scroll === undefined ? undefined : searchMetadataOf(query, days, SIZE, scroll));
  const shown = page.isLoading ? [] : (page.data?.data ?? []);
  // For a moment the page before is still there.
  const rows = [...new Map([...kept, ...shown].map((row) => [row.ip, row])).values()];
  const { count = 0, scroll: next = "" } = page.data?.request_metadata ?? {};
  const showNext = () => {
    setKept(rows);
    setScroll(next);
  };
  return (
    <section aria-labelledby="matches">
      <div class="bar-of-choices">
        <h2 id="matches">Addresses</h2>
        <a href={pagePath("/feeds", { query, days })}>Make a feed of them</a>
        <Downloads query={query} days={days} />
      </div>
      {rows.length === 0 ? null : <Rows rows={rows} />}
      {scroll === undefined ? (
        <p>
          <button type="button" onClick={() => setScroll("")}>
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
                  <button type="button" onClick={showNext}>
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

function Rows({ rows }: { readonly rows: readonly Row[] }) {
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
              last_seen_timestamp: last = "",
              tags = [],
            } = row.internet_scanner_intelligence;
            const metadata = metadataOf(row);
            return (
              <tr key={row.ip}>
                <th scope="row">
                  <a href={addressPath(row.ip)}>{row.ip}</a>
                </th>
                <td>
                  <Badge verdict={classification === "" ? "unknown" : classification} />
                </td>
                <td class="when">{formatMinute(last)}</td>
                <td class="names">
                  {tags.map(({ slug = "", name = slug }, index) => (
                    <span key={slug}>
                      {index === 0 ? "" : ", "}
                      <ValueLink field="tag" value={slug} text={name} />
                    </span>
                  ))}
                </td>
                <td class="name">
                  <ValueLink field="organization" value={metadata?.organization ?? ""} />
                </td>
                <td class="name">
                  <ValueLink
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
function Downloads({ query, days }: MatchesProps) {
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
