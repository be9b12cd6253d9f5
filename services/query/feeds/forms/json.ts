import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedHead, FeedItems } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines } from "./address-lines.ts";
import { toWireItem } from "./item.ts";

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
    async *writeChanges({ feed, since, removed, items }) {
      yield `${openObject(headOf(feed, since))},"added":`;
      yield* arrayOf(items());
      yield ',"removed":[';
      yield* addressLines(removed.subarray(0, 1), '{"ip":"', '"}');
      yield* addressLines(removed.subarray(1), ',{"ip":"', '"}');
      yield "]}\n";
    },
  }),
};

/** An object a line; changes have a first member `action`, and of gone addresses only `ip`. */
export const ndjson: Form = {
  name: "ndjson",
  contentType: "application/x-ndjson",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ items }) {
      for await (const block of items()) yield block.map((item) => `${JSON.stringify(toWireItem(item))}\n`).join("");
    },
    async *writeChanges({ removed, items }) {
      yield* addressLines(removed, '{"action":"remove","ip":"', '"}\n');
      for await (const block of items()) {
        yield block.map((item) => `${JSON.stringify({ action: "add", ...toWireItem(item) })}\n`).join("");
      }
    },
  }),
};

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
    yield separator + block.map((item) => JSON.stringify(toWireItem(item))).join(",");
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}
