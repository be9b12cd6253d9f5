import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedItem } from "../feed-content.ts";

/** An address as json and ndjson say it. Its members, in this order, are the columns of csv. */
export type WireItem = {
  readonly ip: string;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly classification: string;
  readonly tags: readonly string[];
  /** `AS4134`, as everywhere in the interface. */
  readonly asn: string;
  readonly organization: string;
  readonly country: string;
};

export function toWireItem(item: FeedItem): WireItem {
  return {
    ip: item.ip,
    first_seen: formatTimestamp(item.firstSeen.getTime()),
    last_seen: formatTimestamp(item.lastSeen.getTime()),
    classification: item.classification,
    tags: item.tags,
    asn: item.asn === 0 ? "" : `AS${item.asn}`,
    organization: item.organization,
    country: item.country,
  };
}
