import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { INTENTIONS, severityOf } from "@noisefloor/domain/tags/classification.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { LABEL_FIELDS, type LabelField, labelsOverTime, severitiesOverTime } from "./queries.ts";

export type TimelineField = LabelField | "classification";
export const TIMELINE_FIELDS: readonly TimelineField[] = ["classification", ...LABEL_FIELDS];

/** What a timeline is about: times in milliseconds since 1970 UTC, the width of a bucket in seconds. */
type Window = {
  readonly ip: string;
  readonly scopes: readonly Scope[];
  readonly from: number;
  readonly end: number;
  readonly width: number;
};

/** A bucket and a label; `start` in seconds since 1970 UTC. */
type TimelineRow = { readonly start: number; readonly shown_label: string; readonly observations: number };

/** The observations of an address per bucket and label: newest bucket first, in it the label with most of them. */
export async function readTimeline(
  field: TimelineField,
  { scopes, ...window }: Window,
  deps: RouteDeps,
  signal: AbortSignal,
): Promise<TimelineRow[]> {
  const params = { ...window, scopes: [...scopes] };
  if (field !== "classification") return deps.read(labelsOverTime(field), params, signal);
  const tags = deps.catalogue.all();
  const ofTags = {
    tags: tags.map(({ id }) => id),
    severities: tags.map(({ intention }) => INTENTIONS.indexOf(intention) + 1),
  };
  const isActor = deps.networks.current().actor(ipv4ToNumber(window.ip)) !== undefined;
  const merged = new Map<string, TimelineRow>();
  for (const row of await deps.read(severitiesOverTime, { ...params, ...ofTags }, signal)) {
    const shown_label = INTENTIONS[severityOf(row.worst, { isActor, hasAttacked: row.is_attack })] ?? "unknown";
    const key = `${row.start} ${shown_label}`;
    const observations = row.observations + (merged.get(key)?.observations ?? 0);
    merged.set(key, { start: row.start, shown_label, observations });
  }
  return [...merged.values()].sort(
    (one, other) =>
      other.start - one.start ||
      other.observations - one.observations ||
      (one.shown_label < other.shown_label ? -1 : 1),
  );
}
