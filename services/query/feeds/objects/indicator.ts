import { indicatorPatternOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedObject } from "../feed-content.ts";

/** The author of all indicators, the same in every installation. Its times are those of this definition. */
export const IDENTITY = {
  type: "identity",
  spec_version: "2.1",
  id: "identity--1c3ad6f2-6a1c-5f0b-9a4e-6f9b2f6c1a57",
  created: "2026-01-01T00:00:00.000Z",
  modified: "2026-01-01T00:00:00.000Z",
  name: "Noisefloor",
  identity_class: "system",
} as const;

/** STIX's vocabulary of indicator types, and how sure a sensor's observations make of one, 0 to 100. */
const BY_CLASSIFICATION: Readonly<
  Record<FeedObject["classification"], { readonly type: string; readonly confidence: number }>
> = {
  malicious: { type: "malicious-activity", confidence: 80 },
  suspicious: { type: "anomalous-activity", confidence: 60 },
  unknown: { type: "unknown", confidence: 30 },
  benign: { type: "benign", confidence: 80 },
};

/** The indicator of an address. It has no properties of its own, since strict parsers reject those. */
export function toIndicator(object: FeedObject) {
  return {
    type: "indicator",
    spec_version: "2.1",
    id: `indicator--${object.id}`,
    created_by_ref: IDENTITY.id,
    created: object.createdAt.toISOString(),
    modified: object.modifiedAt.toISOString(),
    ...(object.isRevoked ? { revoked: true } : {}),
    name: object.ip,
    pattern: indicatorPatternOf(object.ip),
    pattern_type: "stix",
    // An indicator has to have a valid_from.
    ...(object.isErased ? { valid_from: object.modifiedAt.toISOString() } : factsOf(object)),
  };
}

/** The slugs of its tags, and a word of one that could be forged. */
export const labelsOf = ({ tags, spoofable }: Pick<FeedObject, "tags" | "spoofable">): readonly string[] =>
  spoofable ? [...tags, "spoofable"] : tags;

function factsOf({ classification, tags, spoofable, link, lastSeen, validUntil }: FeedObject) {
  const labels = labelsOf({ tags, spoofable });
  const { type, confidence } = BY_CLASSIFICATION[classification];
  return {
    // A list may not be empty.
    ...(labels.length === 0 ? {} : { labels }),
    confidence,
    external_references: [{ source_name: "Noisefloor", url: link }],
    indicator_types: [type],
    valid_from: formatTimestamp(lastSeen.getTime()),
    valid_until: formatTimestamp(validUntil.getTime()),
  };
}
