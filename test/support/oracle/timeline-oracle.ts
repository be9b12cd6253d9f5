import type { Marked } from "../builders/marked-observations.ts";
import { dateOf, type Known } from "./address-oracle.ts";
import { classOf, rfc3339 } from "./oracle.ts";

/** The labels that an observation has in a timeline, by the timeline's field. */
const LABELS: Readonly<Record<string, (one: Marked, known: Known) => (string | undefined)[]>> = {
  classification: (one, { actorOf, tags }) => [classOf([one], tags, actorOf(one.ip) !== undefined)],
  destination_port: ({ port }) => [port === undefined ? undefined : String(port)],
  http_path: ({ path }) => [path],
  http_user_agent: ({ userAgent }) => [userAgent],
  source_asn: ({ asn }) => [asn === undefined ? undefined : `AS${asn}`],
  source_org: ({ organization }) => [organization],
  source_rdns: ({ rdns }) => [rdns],
  tag_ids: ({ tagIds }) => [...tagIds],
};
export const TIMELINE_FIELDS = Object.keys(LABELS);

const WIDTHS: Readonly<Record<string, number>> = { h: 60 * 60 * 1000, d: 24 * 60 * 60 * 1000 };

/** The label of all labels without rows of their own. */
export const OTHER_LABELS = "(other labels)";

/** The labels that have rows of their own: 1,000 at most, in about 8 MiB at most, the most frequent first. */
function shownLabels(said: readonly { readonly label: string; readonly timestamp: string }[]): ReadonlySet<string> {
  const counts = new Map<string, { count: number; timestamps: Set<string> }>();
  for (const { label, timestamp } of said) {
    if (label === OTHER_LABELS) continue;
    const known = counts.get(label) ?? { count: 0, timestamps: new Set() };
    counts.set(label, { count: known.count + 1, timestamps: known.timestamps.add(timestamp) });
  }
  const ranked = [...counts].sort(
    ([a, x], [b, y]) => y.count - x.count || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  let bytes = 0;
  const shown = new Set<string>();
  for (const [label, { timestamps }] of ranked.slice(0, 1_000)) {
    bytes += timestamps.size * (Buffer.byteLength(JSON.stringify(label)) + 64);
    if (bytes <= 8 * 1024 * 1024) shown.add(label);
  }
  return shown;
}

/** `GET /v3/noise/ips/{ip}/timeline`. */
export function expectedTimeline(
  ip: string,
  asked: { readonly field: string; readonly days: number; readonly granularity: string; readonly now: number },
  known: Known,
) {
  const { field, days, granularity, now } = asked;
  const seen = known.seen.filter((one) => one.ip === ip);
  const first = seen.map(({ at }) => at).sort((a, b) => a - b)[0];
  const start = now - days * 24 * 60 * 60 * 1000;
  const width = Number.parseInt(granularity, 10) * (WIDTHS[granularity.slice(-1)] ?? 0);
  const said = seen
    .filter(({ at }) => at >= start && at < now)
    .flatMap((one) =>
      [...new Set(LABELS[field]?.(one, known) ?? [])].flatMap((label) =>
        label === undefined ? [] : [{ label, timestamp: rfc3339(one.at - (one.at % width)) }],
      ),
    );
  const shown = shownLabels(said);
  const rows = new Map<string, { data: number; label: string; timestamp: string }>();
  for (const { label: own, timestamp } of said) {
    const label = shown.has(own) ? own : OTHER_LABELS;
    const row = rows.get(`${timestamp} ${label}`) ?? { data: 0, label, timestamp };
    rows.set(`${timestamp} ${label}`, { ...row, data: row.data + 1 });
  }
  return {
    metadata: {
      ip,
      field,
      first_seen: first === undefined ? "" : dateOf(first),
      start: rfc3339(start),
      end: rfc3339(now),
      granularity,
      metric: "count",
    },
    results: [...rows.values()].sort(
      (a, b) =>
        (a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : b.data - a.data) ||
        (a.label < b.label ? -1 : 1),
    ),
  };
}
