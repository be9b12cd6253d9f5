import { addressLines } from "./address-lines.ts";
import type { Form } from "./form.ts";

/** An address a line and nothing else; changes are `+address` and `-address` lines, gone ones first. */
export const txt: Form = {
  name: "txt",
  contentType: "text/plain; charset=utf-8",
  parameters: [],
  open: () => ({
    variant: "",
    writeList: ({ addresses }) => addressLines(addresses, "", "\n"),
    *writeChanges({ added, removed }) {
      yield* addressLines(removed, "-", "\n");
      yield* addressLines(added, "+", "\n");
    },
  }),
};
