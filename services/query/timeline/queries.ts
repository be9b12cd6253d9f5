import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** Tags that are no longer in the catalogue have no intention and are ignored, as in lookups. */
const KNOWN_TAGS = "arrayFilter(id -> mapContains(severities, id), tags)";

/** SQL for the label of an observation, by field; observations with an empty label are left out. */
const LABELS = {
  classification: `toString(CAST(if(empty(${KNOWN_TAGS}), 1, arrayMax(arrayMap(id -> toInt8(severities[id]), ${KNOWN_TAGS}))), 'Enum8(\\'benign\\' = 0, \\'unknown\\' = 1, \\'suspicious\\' = 2, \\'malicious\\' = 3)'))`,
  destination_port: "if(destination_port IS NULL, '', toString(destination_port))",
  http_path: "http_path",
  http_user_agent: "http_user_agent",
  source_asn: "if(asn = 0, '', concat('AS', toString(asn)))",
  source_org: "organization",
  source_rdns: "rdns",
  tag_ids: "toString(arrayJoin(arrayDistinct(tags)))",
} as const;
export type TimelineField = keyof typeof LABELS;
export const TIMELINE_FIELDS = Object.keys(LABELS).filter((name): name is TimelineField => name in LABELS);

/** The most labels of a timeline. Scanners choose the content of many fields, so they could send any number. */
export const MAX_LABELS = 1_000;
/** The approximate limit for the rows of these labels. */
export const MAX_LABELED_BYTES = 8 * 1024 * 1024;
/** The size of a row without its label. */
export const ROW_BYTES = 64;
/** The label of all other labels together, which includes observations with this very text. */
export const OTHER_LABELS = "(other labels)";

/** Above this, ClickHouse groups on disk: an address may have as many labels as observations. */
const MAX_GROUPING_BYTES = 64 * 1024 * 1024;

/**
 * Observations of an address per bucket and label, newest bucket first. Buckets are `width` seconds wide and start at
 * multiples of it since 1970 UTC. `is_actor`: a known benign actor owns the address, so every observation is benign.
 * The labels with the most observations in the whole window, ties by label, have rows of their own within the limits
 * above; all other observations are in {@link OTHER_LABELS}.
 */
export const timelineOf = (field: TimelineField) =>
  defineQuery({
    name: `timeline-${field}`,
    sql: `
      WITH
        (SELECT CAST((groupArray(id), groupArray(toInt8(intention))), 'Map(UUID, Int8)') FROM tags FINAL) AS severities,
        counted AS (
          SELECT bucket, label, count() AS observations
          FROM (
            SELECT intDiv(toUnixTimestamp(observed_at), {width:UInt32}) AS bucket,
              ${field === "classification" ? `if({is_actor:Bool}, 'benign', ${LABELS[field]})` : LABELS[field]} AS label
            FROM observations FINAL
            WHERE source_ip = {ip:IPv4} AND ${IN_SCOPES}
              AND observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND observed_at < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
          )
          WHERE label != ''
          GROUP BY bucket, label
        ),
        ranked AS (
          SELECT label, sum(observations) AS total, count() * (length(toJSONString(label)) + ${ROW_BYTES}) AS bytes
          FROM counted WHERE label != {others:String}
          GROUP BY label ORDER BY total DESC, label LIMIT {labels:UInt32}
        ),
        shown AS (
          SELECT label FROM (
            SELECT label, sum(bytes) OVER (ORDER BY total DESC, label ROWS UNBOUNDED PRECEDING) AS bytes_so_far FROM ranked
          ) WHERE bytes_so_far <= {bytes:UInt32}
        )
      SELECT bucket * {width:UInt32} AS start, if(label IN shown, label, {others:String}) AS shown_label,
        sum(counted.observations) AS observations
      FROM counted
      GROUP BY bucket, shown_label
      ORDER BY bucket DESC, observations DESC, shown_label
      SETTINGS max_bytes_before_external_group_by = ${MAX_GROUPING_BYTES},
        do_not_merge_across_partitions_select_final = 1`,
    params: z.object({
      ip: z.string(),
      scopes: scopesParam,
      from: z.int(),
      end: z.int(),
      width: z.int(),
      is_actor: z.boolean(),
      labels: z.int().default(MAX_LABELS),
      bytes: z.int().default(MAX_LABELED_BYTES),
      others: z.literal(OTHER_LABELS).default(OTHER_LABELS),
    }),
    row: z.object({ start: z.int(), shown_label: z.string(), observations: z.int() }),
  });
