import { useState } from "preact/hooks";
import { ask } from "../../api/ask.ts";
import { ApiFailure } from "../../api/failure.ts";
import type { SearchPage } from "../../api/operations.ts";
import { searchMetadataOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useKey } from "../../key/kept-key.ts";
import { addressPath, pagePath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { Loaded } from "../../shell/loaded.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { downloadMatches, FORMATS } from "./download.ts";

/** Each listed address is a lookup. */
const SIZE = 25;

type MatchesProps = { readonly query: string; readonly days: string };

/** The addresses that match, page by page. Callers without a key have few lookups, so they ask for each page. */
export function Matches({ query, days }: MatchesProps) {
  const { key } = useKey();
  const [scrolls, setScrolls] = useState<readonly string[]>(key === "" ? [] : [""]);
  const showNext = (scroll: string) => setScrolls((shown) => [...shown, scroll]);
  return (
    <section aria-labelledby="matches">
      <div class="bar-of-choices">
        <h2 id="matches">Addresses</h2>
        <a href={pagePath("/feeds", { query, days })}>Make a feed of them</a>
        <Downloads query={query} days={days} />
      </div>
      {scrolls.length === 0 ? (
        <p>
          <button type="button" onClick={() => showNext("")}>
            List the first {SIZE}, each of which is a lookup
          </button>
        </p>
      ) : null}
      {scrolls.map((scroll, index) => (
        <Page
          key={scroll}
          query={query}
          days={days}
          scroll={scroll}
          showNext={index === scrolls.length - 1 ? showNext : undefined}
        />
      ))}
    </section>
  );
}

type PageProps = MatchesProps & {
  readonly scroll: string;
  /** Undefined where the next page is shown already. */
  readonly showNext: ((scroll: string) => void) | undefined;
};

function Page({ query, days, scroll, showNext }: PageProps) {
  const page = useAnswer(searchMetadataOf(query, days, SIZE, scroll));
  return (
    <Loaded of={page} what="the addresses">
      {({ data, request_metadata: { scroll: next } }) => (
        <>
          <Rows data={data} />
          {next === "" || showNext === undefined ? null : (
            <p>
              <button type="button" onClick={() => showNext(next)}>
                Show {SIZE} more
              </button>
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

function Rows({ data }: Pick<SearchPage, "data">) {
  if (data.length === 0) return <p class="empty">No address matches.</p>;
  return (
    <ScrollRegion label="Addresses that match">
      <table data-page>
        <caption class="hidden">Addresses that match</caption>
        <TableHead headings={["Address", "Verdict", "Last seen", "Tags", "Organization", "Country"]} />
        <tbody>
          {data.map(({ ip, internet_scanner_intelligence: scanner }) => {
            const { classification = "", last_seen_timestamp: last = "", tags = [] } = scanner;
            const metadata = scanner.metadata !== undefined && "asn" in scanner.metadata ? scanner.metadata : undefined;
            return (
              <tr key={ip}>
                <th scope="row">
                  <a href={addressPath(ip)}>{ip}</a>
                </th>
                <td>
                  <Badge verdict={classification === "" ? "unknown" : classification} />
                </td>
                <td class="when">{formatMinute(last)}</td>
                <td>
                  {tags.map(({ slug = "", name = slug }, index) => (
                    <span key={slug}>
                      {index === 0 ? "" : ", "}
                      <ValueLink field="tags" value={slug} text={name} />
                    </span>
                  ))}
                </td>
                <td>
                  <ValueLink field="organization" value={metadata?.organization ?? ""} />
                </td>
                <td>
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
