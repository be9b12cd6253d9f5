import { CSV_COLUMNS, CSV_HEADER, toCsvFields, toCsvRow } from "@noisefloor/domain/feeds/listed-address.ts";
import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";
import type { FeedItem, FeedItems } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines } from "./address-lines.ts";
import { toWireItem } from "./item.ts";

/** Changes have a first column `action`, and of gone addresses no more than that they are. */
export const csv: Form = {
  name: "csv",
  contentType: "text/csv; charset=utf-8; header=present",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ items }) {
      yield CSV_HEADER;
      yield* linesOf(items(), (item) => toCsvRow(toWireItem(item)));
    },
    async *writeChanges({ removed, items }) {
      yield formatCsvLine(["action", ...CSV_COLUMNS]);
      yield* addressLines(removed, "remove,", `${",".repeat(CSV_COLUMNS.length - 1)}\r\n`);
      yield* linesOf(items(), (item) => formatCsvLine(["add", ...toCsvFields(toWireItem(item))]));
    },
  }),
};

async function* linesOf(items: FeedItems, format: (item: FeedItem) => string): AsyncGenerator<string> {
  for await (const block of items) yield block.map(format).join("");
}
