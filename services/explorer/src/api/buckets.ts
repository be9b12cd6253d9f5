import type { Bucket, TagActivity } from "./operations.ts";

/** The buckets of a tag's activity, which the answer has under the tag's intention. */
export function bucketsOf({ activity }: TagActivity): Bucket[] {
  return Object.values(activity).flat();
}
