import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { Form, FormWriter } from "../form.ts";
import { addressLines } from "./address-lines.ts";
import { AGGREGATE, blockTexts } from "./aggregate.ts";

/** An address a line and nothing else; changes are `+address` and `-address` lines, gone ones first. */
const ADDRESSES: FormWriter = {
  variant: "",
  writeList: ({ addresses }) => addressLines(addresses, "", "\n"),
  *writeChanges({ added, removed }) {
    yield* addressLines(removed, "-", "\n");
    yield* addressLines(added, "+", "\n");
  },
};

/** Without changes: an address that goes may split a block in many. */
const BLOCKS: FormWriter = {
  variant: "aggregate",
  *writeList({ addresses }) {
    for (const blocks of blockTexts(addresses)) yield `${blocks.join("\n")}\n`;
  },
};

export const txt: Form = {
  name: "txt",
  contentType: "text/plain; charset=utf-8",
  reads: "addresses",
  parameters: [AGGREGATE],
  open: (query) => (readParameter(query, AGGREGATE) ? BLOCKS : ADDRESSES),
};
