import { type ListedAddress, listStored } from "@noisefloor/domain/feeds/listed-address.ts";
import type { ListedCallback } from "@noisefloor/domain/feeds/listed-callback.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedItem } from "../feed-content.ts";

/** An address as json and ndjson have it. Its members, in this order, are the columns of csv. */
export const toWireItem = (item: FeedItem): ListedAddress =>
  listStored({ ...item, firstSeen: item.firstSeen.getTime(), lastSeen: item.lastSeen.getTime() });

/** A callback as json and ndjson have it, undefined for an item of a visitor. Its members are the columns of csv, too. */
export const toWireCallback = ({ ip, naming, firstSeen, lastSeen }: FeedItem): ListedCallback | undefined =>
  naming && {
    host: ip,
    kind: naming.kind,
    first_seen: formatTimestamp(firstSeen.getTime()),
    last_seen: formatTimestamp(lastSeen.getTime()),
    visitors: naming.visitors,
    ports: naming.ports,
    schemes: naming.schemes,
  };
