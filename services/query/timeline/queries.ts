import { IS_ATTACK } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { allRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** SQL for the label of an observation, by field; observations with an empty label are left out. */
const LABELS = {
  destination_port: "if(destination_port IS NULL, '', toString(destination_port))",
  http_path: "http_path",
  http_user_agent: "http_user_agent",
  source_asn: "if(asn = 0, '', concat('AS', toString(asn)))",
  source_org: "organization",
  source_rdns: "rdns",
  tag_ids: "toString(arrayJoin(arrayDistinct(tags)))",
} as const;
export type LabelField = keyof typeof LABELS;
export const LABEL_FIELDS = Object.keys(LABELS).filter((name): name is LabelField => name in LABELS);

/** Max labels of a timeline. Scanners choose the content of many fields, so they could send any number. */
export const MAX_LABELS = 1_000;
/** The approximate limit for the rows of these labels. */
export const MAX_LABELED_BYTES = 8 * 1024 * 1024;
/** The size of a row without its label. */
export const ROW_BYTES = 64;
/** The label of all other labels together, which includes observations with this very text. */
export const OTHER_LABELS = "(other labels)";

const NEWEST_FIRST = "ORDER BY start DESC, observations DESC, shown_label";

/** Above this, ClickHouse groups and sorts on disk: an address may have as many labels as observations. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024;

/**
 * SQL: the observations of an address in a window. FINAL: one that arrived twice counts once, with its latest content.
 * PREWHERE comes before FINAL, so it may only ask for columns of the sorting key.
 */
const OF_ADDRESS = `FROM ${OBSERVATIONS} FINAL
    PREWHERE source_ip = {ip:IPv4} AND ${IN_SCOPES}
      AND observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND observed_at < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;
/** Buckets are `width` seconds wide and start at multiples of it since 1970 UTC. */
const windowParams = z.object({ ip: z.string(), scopes: scopesParam, from: z.int(), end: z.int(), width: z.int() });

/** Observations per bucket and label. The labels are made in a query of their own, so that GROUP BY may name them. */
const countsOf = (field: LabelField) => `
  SELECT bucket, label, count() AS observations
  FROM (
    SELECT intDiv(toUnixTimestamp(observed_at), {width:UInt32}) AS bucket, ${LABELS[field]} AS label
    ${OF_ADDRESS}
  )
  WHERE label != ''
  GROUP BY bucket, label`;

/**
 * The labels with the most observations in the whole window, ties by label, have rows of their own within the limits
 * above; all other observations are in {@link OTHER_LABELS}. The observations are read once: what a WITH clause names
 * would be read wherever it is used.
 */
const withMostFrequentLabels = (counts: string) => `
  SELECT bucket * {width:UInt32} AS start, if(is_shown, label, {others:String}) AS shown_label,
    sum(observations_in_bucket) AS observations
  FROM (
    SELECT label, point.1 AS bucket, point.2 AS observations_in_bucket,
      label != {others:String} AND rank <= {labels:UInt32} AND bytes_so_far <= {bytes:UInt32} AS is_shown
    FROM (
      SELECT label, points, row_number() OVER by_total AS rank, sum(bytes) OVER by_total AS bytes_so_far
      FROM (
        SELECT label, groupArray((bucket, observations)) AS points, sum(observations) AS total,
          count() * (length(toJSONString(label)) + ${ROW_BYTES}) AS bytes
        FROM (${counts})
        GROUP BY label
      )
      WINDOW by_total AS (
        ORDER BY label = {others:String}, total DESC, label ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    ARRAY JOIN points AS point
  )
  GROUP BY bucket, shown_label`;

/** Observations of an address per bucket and label, newest bucket first. */
export const labelsOverTime = (field: LabelField) =>
  defineQuery({
    name: `timeline-${field}`,
    sql: `${withMostFrequentLabels(countsOf(field))}
      ${NEWEST_FIRST}
      SETTINGS max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY},
        max_bytes_before_external_sort = ${MAX_BYTES_IN_MEMORY}, do_not_merge_across_partitions_select_final = 1`,
    combine: (results) => `${allRows(results)} ${NEWEST_FIRST}`,
    params: windowParams.extend({
      labels: z.int().default(MAX_LABELS),
      bytes: z.int().default(MAX_LABELED_BYTES),
      others: z.literal(OTHER_LABELS).default(OTHER_LABELS),
    }),
    row: z.object({ start: z.int(), shown_label: z.string(), observations: z.int() }),
  });

/**
 * Observations of an address per bucket, worst severity of their tags (-1 without tags in the catalogue) and whether they
 * are attacks. `tags` are all of the catalogue, `severities` theirs, from 1. The caller names the classes: the server would
 * take longer to plan that in SQL than to read the rows.
 */
export const severitiesOverTime = defineQuery({
  name: "timeline-classification",
  sql: `
    SELECT intDiv(toUnixTimestamp(observed_at), {width:UInt32}) * {width:UInt32} AS start,
      arrayMax(arrayMap(id -> {severities:Array(Int8)}[indexOf({tags:Array(UUID)}, id)], tags)) - 1 AS worst,
      ${IS_ATTACK} AS is_attack, count() AS observations
    ${OF_ADDRESS}
    GROUP BY start, worst, is_attack
    SETTINGS do_not_merge_across_partitions_select_final = 1`,
  combine: allRows,
  params: windowParams.extend({ tags: z.array(z.string()).readonly(), severities: z.array(z.int()).readonly() }),
  row: z.object({ start: z.int(), worst: z.int(), is_attack: z.boolean(), observations: z.int() }),
});
