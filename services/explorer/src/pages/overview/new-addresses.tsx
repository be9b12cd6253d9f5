import type { FirstSeen } from "../../api/operations.ts";
import { LatestAddresses } from "../../table/latest-addresses.tsx";
import { formatMinute, plural } from "../../text/format.ts";

/** The addresses that were not seen before, the newest first. */
export function NewAddresses({ ips, total_ips: total, metadata: { start_date: start, stored_from: from } }: FirstSeen) {
  if (from === "") return <p class="empty">No observation is stored.</p>;
  if (from >= start) return <p class="empty">No data before: observations begin at {formatMinute(from)}.</p>;
  if (total === 0) return <p class="empty">All addresses of this period were seen before.</p>;
  return (
    <>
      <p data-new>
        <strong>{plural(total, "address", "addresses")}</strong> never seen before. Observations begin at{" "}
        {formatMinute(from)}.
      </p>
      <LatestAddresses
        caption="Addresses seen for the first time"
        heading="First seen"
        addresses={ips.map(({ ip, first_seen: time }) => ({ ip, time }))}
        isTall
      />
      {ips.length === total ? null : <p class="faint hint">The newest {ips.length} of them.</p>}
    </>
  );
}
