import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedHead, FeedItem, FeedItems } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines, nameLines } from "./address-lines.ts";
import { toWireCallback, toWireItem } from "./item.ts";

/** One object: the feed, and `items`, or with `since` what was `added` and `removed`. */
export const json: Form = {
  name: "json",
  contentType: "application/json; charset=utf-8",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ feed, items }) {
      yield `${openObject(headOf(feed))},"items":`;
      yield* arrayOf(items());
      yield "}\n";
    },
    async *writeChanges({ feed, since, removed, removedNames, items }) {
      yield `${openObject(headOf(feed, since))},"added":`;
      yield* arrayOf(items());
      yield ',"removed":[';
      const gone = `{"${MEMBERS[feed.of]}":"`;
      yield* addressLines(removed.subarray(0, 1), gone, '"}');
      yield* addressLines(removed.subarray(1), `,${gone}`, '"}');
      yield* nameLines(removedNames.slice(0, 1), (name) => `${removed.length > 0 ? "," : ""}${gone}${name}"}`);
      yield* nameLines(removedNames.slice(1), (name) => `,${gone}${name}"}`);
      yield "]}\n";
    },
  }),
};

/** An object a line; changes have a first member `action`, and of gone ones only `ip`, or `host`. */
export const ndjson: Form = {
  name: "ndjson",
  contentType: "application/x-ndjson",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ items }) {
      for await (const block of items()) yield block.map((item) => `${JSON.stringify(wireOf(item))}\n`).join("");
    },
    async *writeChanges({ feed, removed, removedNames, items }) {
      const gone = `{"action":"remove","${MEMBERS[feed.of]}":"`;
      yield* addressLines(removed, gone, '"}\n');
      yield* nameLines(removedNames, (name) => `${gone}${name}"}\n`);
      for await (const block of items()) {
        yield block.map((item) => `${JSON.stringify({ action: "add", ...wireOf(item) })}\n`).join("");
      }
    },
  }),
};

/** The member that names what is listed. */
const MEMBERS: Readonly<Record<FeedSubject, string>> = { visitors: "ip", callbacks: "host" };

const wireOf = (item: FeedItem) => toWireCallback(item) ?? toWireItem(item);

/** The members with which both objects begin, in the order of the interface. */
function headOf({ name, cursor, listedAt, count, truncated }: FeedHead, since?: string) {
  return { feed: name, cursor, since, refreshed_at: formatTimestamp(listedAt.getTime()), count, truncated };
}

/** The JSON of an object without its end. */
function openObject(members: object): string {
  return JSON.stringify(members).slice(0, -1);
}

async function* arrayOf(items: FeedItems): AsyncGenerator<string> {
  let separator = "[";
  for await (const block of items) {
    if (block.length === 0) continue;
    yield separator + block.map((item) => JSON.stringify(wireOf(item))).join(",");
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}
