import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Taggable } from "./matching/fields.ts";

/** Gives observations the tags of the rules that they match. */
export type Tagger = {
  /** Slugs, without repetition. */
  tagsFor(observation: Taggable): readonly string[];
};

export type AssignedTags = {
  /** Those of the sender and those of rules, without repetition. */
  readonly tagIds: readonly string[];
  /** Those of rules, also where the sender named them as well. Left out without a tagger. */
  readonly ruleTagIds?: readonly string[];
  /** Those of rules that the sender named as well. */
  readonly sharedTagIds?: readonly string[];
};

/**
 * Adds the tags of rules to those that the sender named. A rule's tag that is not in the catalogue is left out: the
 * sender can do nothing about it, and a rule that was just removed must not stop the intake.
 */
export function assignTags(
  observation: Taggable,
  senderTagIds: readonly string[],
  catalogue: TagCatalogue,
  tagger: Tagger | undefined,
): AssignedTags {
  if (tagger === undefined) return { tagIds: senderTagIds };
  const slugs = tagger.tagsFor(observation);
  if (slugs.length === 0) return { tagIds: senderTagIds, ruleTagIds: slugs };
  // Arrays of just this size: one that grows with each value keeps room for many more.
  const ruleTagIds = slugs.map((slug) => catalogue.resolve(slug)?.id).filter((id) => id !== undefined);
  const sharedTagIds = ruleTagIds.filter((id) => senderTagIds.includes(id));
  const added = sharedTagIds.length === 0 ? ruleTagIds : ruleTagIds.filter((id) => !senderTagIds.includes(id));
  return { tagIds: senderTagIds.concat(added), ruleTagIds, sharedTagIds };
}
