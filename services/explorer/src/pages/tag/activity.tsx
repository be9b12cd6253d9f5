import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { useMemo } from "preact/hooks";
import { bucketsOf } from "../../api/buckets.ts";
import type { Tag, TagActivity } from "../../api/operations.ts";
import { activityOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { ChartTable } from "../../charts/chart-table.tsx";
import { Split } from "../../charts/split.tsx";
import { TimeChart } from "../../charts/time-chart.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { Clamped } from "../../shell/clamped.tsx";
import { Choice } from "../../shell/controls/choice.tsx";
import { DownloadButton } from "../../shell/controls/download-button.tsx";
import { PeriodChoice } from "../../shell/controls/period-choice.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { BucketAddresses } from "./bucket-addresses.tsx";
import { DAYS, DEFAULTS, parseScopes, WIDTH_NAMES, WIDTHS } from "./choices.ts";
import { toCsv, toNdjson } from "./export.ts";
import { ScopeChoice } from "./scope-choice.tsx";

/** How many addresses a tag had; period, width of a bucket, datasets and chosen bucket are in the page's URL. */
export function Activity({ tag }: { readonly tag: Tag }) {
  const { values, set } = useParameters({ ...DEFAULTS, bucket: "" });
  const days = oneOf(DAYS, values.days, "7");
  const granularity = oneOf(WIDTHS, values.width, "4h");
  const scopes = parseScopes(values.scopes).join();
  const options = { days: Number(days), granularity, scopes };
  const activity = useAnswer(activityOf(tag.id, options));
  return (
    <section aria-labelledby="activity">
      <div class="bar-of-choices">
        <h2 id="activity">Activity</h2>
        <PeriodChoice days={DAYS} value={days} onChoose={(chosen) => set({ days: chosen, bucket: "" })} />
        <Choice
          label="Bucket"
          name="width"
          options={WIDTH_NAMES}
          value={granularity}
          onChoose={(chosen) => set({ width: chosen, bucket: "" })}
        />
        <ScopeChoice
          chosen={parseScopes(values.scopes)}
          onChoose={(chosen) => set({ scopes: chosen.join(), bucket: "" })}
        />
      </div>
      <Loaded of={activity} what="the activity">
        {(data) => (
          <>
            <Clamped days={Number(days)} start={data.metadata.start_date} end={data.metadata.end_date} />
            <Totals activity={data} />
            <Chart tag={tag} activity={data} onPick={(bucket) => set({ bucket })} />
          </>
        )}
      </Loaded>
      {values.bucket === "" ? null : (
        <BucketAddresses tag={tag} options={options} start={values.bucket} onClose={() => set({ bucket: "" })} />
      )}
    </section>
  );
}

function Totals({ activity: { aggregations, metadata } }: { readonly activity: TagActivity }) {
  const { total_ips: total, classification } = aggregations;
  return (
    <>
      <p>
        <strong data-total>{plural(total, "address", "addresses")}</strong> from {formatMinute(metadata.start_date)} to{" "}
        {formatMinute(metadata.end_date)} UTC, by their own classification:
      </p>
      <Split
        total={total}
        parts={WORST_FIRST.map((name) => ({ classification: name, addresses: classification[name] ?? 0 }))}
      />
    </>
  );
}

type ChartProps = { readonly tag: Tag; readonly activity: TagActivity; readonly onPick: (start: string) => void };

function Chart({ tag, activity, onPick }: ChartProps) {
  const buckets = bucketsOf(activity);
  const end = activity.metadata.end_date;
  const shown = useMemo(() => {
    const all = bucketsOf(activity);
    return {
      starts: all.map(({ start }) => Date.parse(start) / 1_000),
      end: Date.parse(end) / 1_000,
      series: [{ label: "Addresses", values: all.map(({ active_ips: count }) => count), color: tag.intention }],
    };
  }, [activity, end, tag.intention]);
  const pick = (bucket: number) => {
    const start = buckets[bucket]?.start;
    if (start !== undefined) onPick(start);
  };
  const name = `${tag.slug}-${end.slice(0, 13)}h`;
  return (
    <>
      <TimeChart label="Distinct addresses in each bucket" {...shown} onPick={pick} />
      <p class="faint hint">Click a bar to list its addresses, drag to zoom, double-click to see everything again.</p>
      <ChartTable
        caption="Distinct addresses in each bucket"
        headings={["Addresses"]}
        rows={buckets.map(({ start, end: endOfBucket, active_ips: count }) => ({
          start,
          end: endOfBucket,
          values: [count],
        }))}
        onPick={pick}
      />
      <p class="actions">
        <DownloadButton name={`${name}.csv`} type="text/csv" toText={() => toCsv(buckets)}>
          Download CSV
        </DownloadButton>
        <DownloadButton name={`${name}.ndjson`} type="application/x-ndjson" toText={() => toNdjson(buckets)}>
          Download NDJSON
        </DownloadButton>
      </p>
    </>
  );
}
