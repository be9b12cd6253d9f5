import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { Placed } from "../oracle/expected-stats.ts";
import { createOracle } from "../oracle/oracle.ts";

export type SeenByDashboards = Placed & { readonly port: number; readonly path: string; readonly id: string };

/** What the panels of a test are asked for. Times are in milliseconds since 1970 UTC. */
export type PanelsAsked = {
  readonly from: number;
  readonly to: number;
  readonly datasets: readonly string[];
  /** Empty for all. */
  readonly tagIds: readonly string[];
  readonly width: keyof typeof WIDTHS;
  readonly ip: string;
};

type Row = readonly string[];

const HOUR = 60 * 60 * 1000;
const MONDAY = Date.UTC(1970, 0, 5);
const WIDTHS = { "1 HOUR": HOUR, "6 HOUR": 6 * HOUR, "1 DAY": 24 * HOUR, "1 WEEK": 7 * 24 * HOUR } as const;

const hourOf = (at: number) => Math.floor(at / HOUR) * HOUR;
const time = (at: number) => new Date(at).toISOString().slice(0, 19).replace("T", " ");
const exactTime = (at: number) => new Date(at).toISOString().slice(0, 23).replace("T", " ");

function groups<T>(of: readonly T[], keyOf: (one: T) => string): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const one of of) found.set(keyOf(one), [...(found.get(keyOf(one)) ?? []), one]);
  return [...found];
}

const addresses = (of: readonly SeenByDashboards[]) => new Set(of.map(({ ip }) => ip)).size;
const byCount = (a: { row: Row; count: number }, b: { row: Row; count: number }) => b.count - a.count;
const number = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/** What a sensor sent in an hour with one outcome, as one process counted it. */
export type Sent = {
  readonly hour: number;
  readonly sensorId: string;
  readonly keyId: string;
  readonly isRest: boolean;
  readonly outcome: string;
  readonly records: number;
};

/** The rows that each panel of the fleet must show, but for those of dead letters. */
export function expectedFleet(
  sent: readonly Sent[],
  { from, to }: PanelsAsked,
): Readonly<Record<string, readonly Row[]>> {
  const inRange = sent.filter(({ hour }) => hour >= from && hour <= to);
  const accepted = inRange.filter(({ outcome }) => outcome === "accepted");
  const rejected = inRange.filter(({ outcome }) => !["accepted", "ignored"].includes(outcome));
  const total = (of: readonly Sent[]) => of.reduce((sum, { records }) => sum + records, 0);
  const nameOf = ({ isRest, sensorId }: Sent) => (isRest ? "(others)" : sensorId === "" ? "(none)" : sensorId);
  const byHour = (of: readonly Sent[], keyOf: (one: Sent) => string) =>
    groups(of, (one) => `${time(one.hour)}\n${keyOf(one)}`).map(([key, group]) => [
      ...key.split("\n"),
      String(total(group)),
    ]);
  const busiest = groups(accepted, nameOf)
    .sort(([, a], [, b]) => total(b) - total(a))
    .slice(0, 20)
    .map(([name]) => name);
  return {
    "fleet/Sensors": [[String(new Set(inRange.map(({ sensorId }) => sensorId).filter((id) => id !== "")).size)]],
    "fleet/Records accepted": [[String(total(accepted))]],
    "fleet/Records rejected": [[String(total(rejected))]],
    "fleet/Records accepted each hour": byHour(
      accepted.filter((one) => busiest.includes(nameOf(one))),
      nameOf,
    ),
    "fleet/Records rejected each hour": byHour(rejected, ({ outcome }) => outcome),
    "fleet/Sensors and what they sent": groups(inRange, (one) => `${nameOf(one)}\nhttp\n${one.keyId}`).map(
      ([key, group]) => [
        ...key.split("\n"),
        String(total(group.filter((one) => accepted.includes(one)))),
        String(total(group.filter((one) => rejected.includes(one)))),
        exactTime(Math.max(...group.map(({ hour }) => hour))),
      ],
    ),
  };
}

/**
 * The rows that each panel must show, by brute force, as texts.
 * @param visible all observations that dashboards may show.
 */
export function expectedPanels(
  visible: readonly SeenByDashboards[],
  tags: readonly Tag[],
  isActor: (ip: string) => boolean,
  asked: PanelsAsked,
): Readonly<Record<string, readonly Row[]>> {
  const { from, to, datasets, tagIds, ip } = asked;
  const width = WIDTHS[asked.width];
  // 1970 began on a Thursday, and weeks begin on Monday.
  const bucketOf = (at: number) => Math.floor((at - MONDAY) / width) * width + MONDAY;
  const oracle = createOracle(visible, tags, isActor);
  const inScope = visible.filter(({ dataset }) => datasets.includes(dataset));
  const active = inScope.filter(({ at }) => hourOf(at) >= from && hourOf(at) <= to);
  const recent = inScope.filter(({ at }) => at >= from);
  const chosen = tags.filter(({ id }) => tagIds.length === 0 || tagIds.includes(id));
  const withTag = (id: string) => active.filter((one) => one.tagIds.includes(id));
  const activeTags = chosen
    .map((tag) => ({ tag, count: addresses(withTag(tag.id)) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || (a.tag.id < b.tag.id ? -1 : 1));
  const series = (seen: readonly SeenByDashboards[], count: (of: readonly SeenByDashboards[]) => number) =>
    groups(seen, ({ at }) => time(bucketOf(at)))
      .map(([at, group]) => [at, String(count(group))])
      .sort();
  const counted = (seen: readonly SeenByDashboards[], rowOf: (one: SeenByDashboards) => string[], isExact = false) =>
    groups(seen, (one) => rowOf(one).join("\n"))
      .map(([key, group]) => ({ row: key.split("\n"), count: isExact ? group.length : addresses(group) }))
      .sort(byCount)
      .map(({ row, count }) => [...row, String(count)]);
  const lastOf = (seen: readonly SeenByDashboards[]) => Math.max(...seen.map(({ at }) => at));
  const ofAddress = inScope.filter((one) => one.ip === ip);
  const inRange = ofAddress.filter(({ at }) => at >= from && at <= to);
  const organizations = new Map(
    groups(recent, ({ asn }) => String(asn)).map(([asn, group]) => [
      asn,
      group
        .map(({ organization }) => organization ?? "")
        .sort()
        .at(-1) ?? "",
    ]),
  );
  return {
    "activity/Addresses": [[String(addresses(active))]],
    "activity/Addresses with the chosen tags": [
      [String(addresses(active.filter((one) => chosen.some(({ id }) => one.tagIds.includes(id)))))],
    ],
    "activity/Addresses over time": series(active, addresses),
    "activity/Tags over time": activeTags
      .slice(0, 10)
      .flatMap(({ tag }) => series(withTag(tag.id), addresses).map(([at = "", count = ""]) => [at, tag.slug, count])),
    "activity/Tags": activeTags.map(({ tag, count }) => [tag.slug, tag.name, tag.intention, String(count)]),
    "activity/Classification": counted(recent, ({ ip: of }) => [oracle.classification(of, datasets)]),
    "activity/Networks": counted(
      recent.filter(({ asn }) => asn !== 0),
      ({ asn }) => [String(asn), organizations.get(String(asn)) ?? ""],
    ),
    "activity/Countries": counted(
      recent.filter(({ country }) => country !== ""),
      ({ country = "" }) => [country],
    ),
    "activity/Last addresses": groups(recent, (one) => one.ip)
      .map(([of, group]) => ({ of, last: lastOf(group) }))
      .sort((a, b) => b.last - a.last || number(a.of) - number(b.of))
      .slice(0, 50)
      .map(({ of, last }) => [of, oracle.classification(of, datasets), exactTime(last)]),
    "address/Address": groups(ofAddress, ({ dataset, workspaceId = "" }) => `${dataset}\n${workspaceId}`).map(
      ([key, group]) => {
        const [dataset = ""] = key.split("\n");
        return [ip, dataset, oracle.classification(ip, [dataset]), exactTime(lastOf(group))];
      },
    ),
    "address/Tags": tags
      .map((tag) => ({ tag, group: ofAddress.filter(({ tagIds: ids }) => ids.includes(tag.id)) }))
      .filter(({ group }) => group.length > 0)
      .map(({ tag, group }) => [tag.slug, tag.name, tag.intention, exactTime(lastOf(group))]),
    "address/Observations over time": series(inRange, ({ length }) => length),
    "address/Ports": counted(inRange, ({ port }) => [String(port), "tcp"], true),
    "address/Networks": counted(
      inRange,
      ({ asn, organization = "", country = "" }) => [String(asn), organization, country],
      true,
    ),
    "address/Last observations": [...inRange]
      .sort((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1))
      .slice(0, 100)
      .map(({ at, port, path }) => [exactTime(at), "s", String(port), "http", "GET", path, "zgrab"]),
  };
}
