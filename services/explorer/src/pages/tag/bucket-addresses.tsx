import { useEffect, useRef } from "preact/hooks";
import { bucketsOf } from "../../api/buckets.ts";
import type { Tag } from "../../api/operations.ts";
import { type ActivityOptions, activityOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath } from "../../routing/paths.ts";
import { DownloadButton } from "../../shell/controls/download-button.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { addressesToCsv, addressesToNdjson } from "./export.ts";

type BucketAddressesProps = {
  readonly tag: Tag;
  readonly options: ActivityOptions;
  /** The start of the bucket. */
  readonly start: string;
  readonly onClose: () => void;
};

/** The addresses of a bucket, or the sample of them that the API gives. */
export function BucketAddresses({ tag, options, start, onClose }: BucketAddressesProps) {
  const activity = useAnswer(activityOf(tag.id, { ...options, includesIps: true }));
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [start]);
  return (
    <div class="bucket">
      <div class="bar-of-choices">
        <h3 tabIndex={-1} ref={heading}>
          Addresses from {formatMinute(start)} UTC
        </h3>
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </div>
      <Loaded of={activity} what="the addresses">
        {(data) => {
          const bucket = bucketsOf(data).find((one) => one.start === start);
          if (bucket === undefined) return <p class="empty">The chart has no such bucket any more.</p>;
          return <List name={`${tag.slug}-${start.slice(0, 13)}h`} ips={bucket.ips ?? []} total={bucket.active_ips} />;
        }}
      </Loaded>
    </div>
  );
}

function List({
  name,
  ips,
  total,
}: {
  readonly name: string;
  readonly ips: readonly string[];
  readonly total: number;
}) {
  if (total === 0) return <p class="empty">It had none.</p>;
  return (
    <>
      <p data-listed>
        {ips.length === total
          ? `All ${plural(total, "address", "addresses")}.`
          : `${formatCount(ips.length)} of ${formatCount(total)} addresses: a uniform sample, the same each time.`}
      </p>
      <ul class="addresses">
        {ips.map((ip) => (
          <li key={ip}>
            <a href={addressPath(ip)}>{ip}</a>
          </li>
        ))}
      </ul>
      <p class="actions">
        <DownloadButton name={`${name}.csv`} type="text/csv" toText={() => addressesToCsv(ips)}>
          Addresses as CSV
        </DownloadButton>
        <DownloadButton name={`${name}.ndjson`} type="application/x-ndjson" toText={() => addressesToNdjson(ips)}>
          Addresses as NDJSON
        </DownloadButton>
      </p>
    </>
  );
}
