import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import { CSV_COLUMNS, toCsvFields } from "@noisefloor/domain/feeds/listed-address.ts";
import { CALLBACK_COLUMNS, toCallbackFields } from "@noisefloor/domain/feeds/listed-callback.ts";
import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";
import type { FeedItem, FeedItems } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines, nameLines } from "./address-lines.ts";
import { toWireCallback, toWireItem } from "./item.ts";

/** Changes have a first column `action`, and of gone hosts no more than that they are. */
export const csv: Form = {
  name: "csv",
  contentType: "text/csv; charset=utf-8; header=present",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ feed, items }) {
      yield formatCsvLine(COLUMNS[feed.of]);
      yield* linesOf(items(), (item) => formatCsvLine(fieldsOf(item)));
    },
    async *writeChanges({ feed, removed, removedNames, items }) {
      const columns = COLUMNS[feed.of];
      const others = `${",".repeat(columns.length - 1)}\r\n`;
      yield formatCsvLine(["action", ...columns]);
      yield* addressLines(removed, "remove,", others);
      yield* nameLines(removedNames, (name) => `remove,${name}${others}`);
      yield* linesOf(items(), (item) => formatCsvLine(["add", ...fieldsOf(item)]));
    },
  }),
};

const COLUMNS: Readonly<Record<FeedSubject, readonly string[]>> = {
  visitors: CSV_COLUMNS,
  callbacks: CALLBACK_COLUMNS,
};

function fieldsOf(item: FeedItem): string[] {
  const callback = toWireCallback(item);
  return callback === undefined ? toCsvFields(toWireItem(item)) : toCallbackFields(callback);
}

async function* linesOf(items: FeedItems, format: (item: FeedItem) => string): AsyncGenerator<string> {
  for await (const block of items) yield block.map(format).join("");
}
