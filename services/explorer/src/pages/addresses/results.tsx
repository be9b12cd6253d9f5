import { useMemo, useState } from "preact/hooks";
import type { AddressContext, QuickContext } from "../../api/operations.ts";
import { addressPath, asnPath, tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { Choice } from "../../shell/controls/choice.tsx";
import { DownloadButton } from "../../shell/controls/download-button.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { type Result, toCsv, toResults, VERDICTS_WORST_FIRST, worstFirst } from "./result.ts";

/** More take a browser seconds to lay out. */
const FIRST_ROWS = 500;
const ORDERS = [
  ["worst", "the worst first"],
  ["list", "as in the list"],
] as const;
type Order = (typeof ORDERS)[number][0];

type ResultsProps = {
  readonly asked: readonly string[];
  readonly found: readonly (QuickContext | AddressContext)[];
  readonly hasDetails: boolean;
};

const HEADINGS = ["Address", "Verdict", "Seen scanning", "Benign service"];
const DETAILS = ["Address", "Verdict", "Last seen", "Tags", "Network", "Benign service"];

export function Results({ asked, found, hasDetails }: ResultsProps) {
  const [order, setOrder] = useState<Order>("worst");
  const [showsAll, setShowsAll] = useState(false);
  const results = useMemo(() => toResults(asked, found), [asked, found]);
  const ordered = order === "worst" ? worstFirst(results) : results;
  const shown = showsAll ? ordered : ordered.slice(0, FIRST_ROWS);
  return (
    <section aria-labelledby="results">
      <div class="bar-of-choices">
        <h2 id="results">What is known of them</h2>
        <Choice label="Order" name="order" options={ORDERS} value={order} onChoose={setOrder} />
        <DownloadButton name="addresses.csv" type="text/csv" toText={() => toCsv(ordered)}>
          Download CSV
        </DownloadButton>
      </div>
      <p data-verdicts>{summarize(results)}</p>
      <ScrollRegion label="Addresses">
        <table>
          <caption class="hidden">The addresses of the list</caption>
          <TableHead headings={hasDetails ? DETAILS : HEADINGS} />
          <tbody>
            {shown.map(({ ip, verdict, isSeen, trustLevel, details }) => (
              <tr key={ip}>
                <th scope="row">
                  <a href={addressPath(ip)}>{ip}</a>
                </th>
                <td>
                  <Badge verdict={verdict} />
                </td>
                {hasDetails ? <DetailCells details={details} /> : <td>{isSeen ? "yes" : "no"}</td>}
                <td>{trustLevel === undefined ? "no" : <Trust level={trustLevel} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {shown.length === ordered.length ? null : (
        <button type="button" class="quiet" onClick={() => setShowsAll(true)}>
          Show all {formatCount(ordered.length)} addresses
        </button>
      )}
    </section>
  );
}

function DetailCells({ details }: Pick<Result, "details">) {
  const { lastSeen = "", tags = [], asn = "", organization = "" } = details ?? {};
  return (
    <>
      <td class="when">{lastSeen === "" ? "not seen" : formatMinute(lastSeen)}</td>
      <td class={tags.length === 0 ? undefined : "names"}>
        {tags.map(({ slug, name }, index) => (
          <span key={slug}>
            {index === 0 ? "" : ", "}
            <a href={tagPath(slug)}>
              <Hostile text={name} />
            </a>
          </span>
        ))}
      </td>
      <td class="name">
        {asn === "" ? null : <a href={asnPath(asn)}>{asn}</a>} <Hostile text={organization} />
      </td>
    </>
  );
}

function Trust({ level }: { readonly level: string }) {
  return (
    <>
      yes{level === "" ? "" : ", trust level "}
      <Hostile text={level} />
    </>
  );
}

/** `2 malicious, 1 benign, 7 not seen`. */
function summarize(results: readonly Result[]): string {
  const counts = VERDICTS_WORST_FIRST.map((verdict) => {
    const count = results.filter((result) => result.verdict === verdict).length;
    return count === 0 ? [] : `${formatCount(count)} ${verdict}`;
  });
  return counts.flat().join(", ");
}
