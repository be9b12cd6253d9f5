import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** Of a tag that is gone from the catalogue nobody knows the intention: it says nothing, as in lookups. */
const KNOWN_TAGS = "arrayFilter(id -> mapContains(severities, id), tags)";

/** What a timeline can be drawn by, and the label that each observation then has; an empty label is left out. */
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

/** The most labels that a timeline tells apart. Whoever scans chooses what many of them say. */
export const MAX_LABELS = 1_000;
/** About as many bytes may the rows of these labels take. */
export const MAX_LABELED_BYTES = 8 * 1024 * 1024;
/** What a row takes besides its label. */
export const ROW_BYTES = 64;
/** All other labels together. An observation that says this text itself is counted among them. */
export const OTHER_LABELS = "(other labels)";

/** Above this, groups go to the server's disk: an address may have as many labels as observations. */
const MAX_GROUPING_BYTES = 64 * 1024 * 1024;

/**
 * Observations of an address per bucket and label, newest bucket first. Buckets are `width` seconds wide and start at
 * multiples of it since 1970 UTC. `is_actor`: the address is a known benign actor's, so all it does is benign.
 * The labels with the most observations in the whole window, ties by label, have rows of their own as long as these
 * fit in the limits above; the observations of all others are in {@link OTHER_LABELS}.
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
