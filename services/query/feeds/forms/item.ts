import type { ListedAddress } from "@noisefloor/domain/search/listed-address.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedItem } from "../feed-content.ts";

/** An address as json and ndjson have it. Its members, in this order, are the columns of csv. */
export function toWireItem(item: FeedItem): ListedAddress {
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
