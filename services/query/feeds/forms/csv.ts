import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";
import type { FeedItem, FeedItems } from "../feed-content.ts";
import { addressLines } from "./address-lines.ts";
import type { Form } from "./form.ts";
import { toWireItem, type WireItem } from "./item.ts";

export const CSV_CONTENT_TYPE = "text/csv; charset=utf-8; header=present";

const COLUMNS = [
  "ip",
  "first_seen",
  "last_seen",
  "classification",
  "tags",
  "asn",
  "organization",
  "country",
] as const satisfies readonly (keyof WireItem)[];

/** The first line of a list of addresses. */
export const CSV_HEADER = formatCsvLine(COLUMNS);

/** An address as a line under {@link CSV_HEADER}: tags are slugs with a space between. */
export function formatCsvItem(item: FeedItem): string {
  return formatCsvLine(fieldsOf(item));
}

function fieldsOf(item: FeedItem): string[] {
  const wire = toWireItem(item);
  return COLUMNS.map((column) => (column === "tags" ? wire.tags.join(" ") : wire[column]));
}

/** Changes have a first column `action`, and of gone addresses no more than that they are. */
export const csv: Form = {
  name: "csv",
  contentType: CSV_CONTENT_TYPE,
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ items }) {
      yield CSV_HEADER;
      yield* linesOf(items(), formatCsvItem);
    },
    async *writeChanges({ removed, items }) {
      yield formatCsvLine(["action", ...COLUMNS]);
      yield* addressLines(removed, "remove,", `${",".repeat(COLUMNS.length - 1)}\r\n`);
      yield* linesOf(items(), (item) => formatCsvLine(["add", ...fieldsOf(item)]));
    },
  }),
};

async function* linesOf(items: FeedItems, format: (item: FeedItem) => string): AsyncGenerator<string> {
  for await (const block of items) yield block.map(format).join("");
}
