import { NIL_TAG_ID } from "../../../libs/domain/tags/nil-tag.ts";

/** `activity_states` has every address under this tag. */
export const ANY_TAG = `tag_id = toUUID('${NIL_TAG_ID}')`;
export const IN_SCOPES = "dataset IN (${scope:singlequote})";
export const IN_RANGE = "$__timeFilter(hour)";
export const CHOSEN_TAGS = "$__conditionalAll(tag_id IN (${tag:singlequote}), $tag)";

/** The start of the bucket that holds a time. Weeks begin on Monday. */
export const bucketOf = (column: string) =>
  `toDateTime(toStartOfInterval(${column}, INTERVAL \${width}, 'UTC'), 'UTC') AS time`;

/** Whether an address was last seen in the range or later. A time before it says nothing of the range. */
export const seenSince = (column: string) => `${column} >= $__fromTime`;

/** The name of a severity of `addresses_seen`. */
export const classificationOf = (severity: string) =>
  `['benign', 'unknown', 'benign', 'unknown', 'suspicious', 'malicious'][${severity} + 2]`;
