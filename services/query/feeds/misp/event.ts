import { createHash } from "node:crypto";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { attributeUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { formatDate, formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedObject } from "../feed-content.ts";
import { IDENTITY, labelsOf } from "../objects/indicator.ts";

/** What a feed's event is made of. Its objects include those that left the feed, as revoked. */
export type EventContent = {
  readonly feed: Pick<Feed, "id" | "name" | "of">;
  /** When its objects last changed, in milliseconds since 1970 UTC. */
  readonly changedAt: number;
  readonly objects: () => AsyncIterable<readonly FeedObject[]>;
};

/** MISP writes times as texts of seconds since 1970. */
const secondsOf = (time: number) => String(Math.floor(time / 1_000));

function headOf({ feed, changedAt }: EventContent) {
  return {
    // Without the description, which changes while the timestamp stays.
    info: `Noisefloor: ${feed.name}`,
    date: formatDate(changedAt),
    // Completed; of medium threat.
    analysis: "2",
    threat_level_id: "2",
    timestamp: secondsOf(changedAt),
    Orgc: { name: IDENTITY.name, uuid: IDENTITY.id.slice("identity--".length) },
    Tag: [],
  };
}

/** `manifest.json`: what tells a platform that the event has changed. */
export function* writeManifest(content: EventContent): Generator<string> {
  yield `${JSON.stringify({ [content.feed.id]: headOf(content) })}\n`;
}

/**
 * The event, with an attribute an address. Platforms keep attributes that an event no longer has, so gone ones say so.
 */
export async function* writeEvent(content: EventContent): AsyncGenerator<string> {
  const { feed, objects } = content;
  const head = { uuid: feed.id, published: true, ...headOf(content) };
  yield `{"Event":${JSON.stringify(head).slice(0, -1)},"Attribute":[`;
  let separator = "";
  for await (const block of objects()) {
    if (block.length === 0) continue;
    yield separator + block.map((object) => JSON.stringify(toAttribute(feed, object))).join(",");
    separator = ",";
  }
  yield "]}}\n";
}

function toAttribute({ id, of }: EventContent["feed"], object: FeedObject) {
  return {
    uuid: attributeUuidOf(id, object.ip),
    type: of === "callbacks" ? "ip-dst" : "ip-src",
    category: "Network activity",
    value: object.ip,
    // Some platforms that read the file do not look at `deleted`.
    to_ids: !object.isRevoked,
    timestamp: secondsOf(object.modifiedAt.getTime()),
    // PyMISP skips these when they are numbers.
    ...(!object.isErased && {
      first_seen: formatTimestamp(object.firstSeen.getTime()),
      last_seen: formatTimestamp(object.lastSeen.getTime()),
    }),
    comment: labelsOf(object).join(" "),
    ...(object.isRevoked ? { deleted: true } : {}),
  };
}

/** `hashes.csv`: in which event a platform finds a value, by the value's MD5. */
export async function* writeHashes({ feed, objects }: EventContent): AsyncGenerator<string> {
  for await (const block of objects()) {
    const live = block.filter(({ isRevoked }) => !isRevoked);
    yield live.map(({ ip }) => `${createHash("md5").update(ip).digest("hex")},${feed.id}\n`).join("");
  }
}
