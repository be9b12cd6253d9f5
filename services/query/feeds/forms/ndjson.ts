import { addressLines } from "./address-lines.ts";
import type { Form } from "./form.ts";
import { toWireItem } from "./item.ts";

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
