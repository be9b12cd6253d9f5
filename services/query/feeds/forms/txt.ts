import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { Form } from "../form.ts";
import { addressLines, nameLines } from "./address-lines.ts";
import { AGGREGATE, blockTexts } from "./aggregate.ts";
import { KIND, ofKind } from "./kind.ts";

/**
 * A host a line and nothing else, addresses first; changes are `+host` and `-host` lines, gone ones first. Without changes
 * where it is aggregated: an address that goes may split a block in many.
 */
export const txt: Form = {
  name: "txt",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  parameters: [AGGREGATE, KIND],
  open: (query) => {
    const [isAggregated, kind] = [readParameter(query, AGGREGATE), readParameter(query, KIND)];
    const variant = JSON.stringify([isAggregated, kind]);
    if (isAggregated) {
      return {
        variant,
        *writeList(list) {
          const { addresses, names } = ofKind(list, kind);
          for (const blocks of blockTexts(addresses)) yield `${blocks.join("\n")}\n`;
          yield* nameLines(names, (name) => `${name}\n`);
        },
      };
    }
    return {
      variant,
      *writeList(list) {
        const { addresses, names } = ofKind(list, kind);
        yield* addressLines(addresses, "", "\n");
        yield* nameLines(names, (name) => `${name}\n`);
      },
      *writeChanges({ added, removed, addedNames, removedNames }) {
        const gone = ofKind({ addresses: removed, names: removedNames }, kind);
        const come = ofKind({ addresses: added, names: addedNames }, kind);
        yield* addressLines(gone.addresses, "-", "\n");
        yield* nameLines(gone.names, (name) => `-${name}\n`);
        yield* addressLines(come.addresses, "+", "\n");
        yield* nameLines(come.names, (name) => `+${name}\n`);
      },
    };
  },
};
