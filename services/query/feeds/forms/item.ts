import { type ListedAddress, listStored } from "@noisefloor/domain/feeds/listed-address.ts";
import type { FeedItem } from "../feed-content.ts";

/** An address as json and ndjson have it. Its members, in this order, are the columns of csv. */
export const toWireItem = (item: FeedItem): ListedAddress =>
  listStored({ ...item, firstSeen: item.firstSeen.getTime(), lastSeen: item.lastSeen.getTime() });
