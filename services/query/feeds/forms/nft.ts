import { type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import type { FeedHead } from "../feed-content.ts";
import { addressLines } from "./address-lines.ts";
import { AGGREGATE, blockTexts } from "./aggregate.ts";
import type { Form } from "./form.ts";

/** A name of nftables' language without quotes. */
const NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/;
const TAKES = "letters, digits and _, a letter first, at most 64";

const TABLE: Parameter<string> = {
  name: "table",
  description: "nftables' table of family `inet` that the set is in.",
  schema: z.string().regex(NAME).default("noisefloor"),
  takes: TAKES,
  describedBy: "output",
  example: "noisefloor",
};
const SET: Parameter<string | undefined> = {
  name: "set",
  description: "nftables' set. By default the feed's name with _ for -, and `.blocks` behind it with `aggregate`.",
  schema: z.string().regex(NAME).optional(),
  takes: TAKES,
  describedBy: "output",
  example: "noisefloor_recent",
};

/**
 * A script for `nft -f`, which runs as one transaction. A list makes table and set where they are missing and replaces
 * the set's elements, so that rules that use the set stay. Changes need a set that has the list of their cursor.
 * A set without `interval` takes single additions fast; no `size`, since a set that is too small loads nothing.
 */
export const nft: Form = {
  name: "nft",
  contentType: "text/plain; charset=utf-8",
  reads: "addresses",
  parameters: [TABLE, SET, AGGREGATE],
  open: (query) => {
    const table = readParameter(query, TABLE);
    const set = readParameter(query, SET);
    const isAggregated = readParameter(query, AGGREGATE);
    const variant = JSON.stringify([table, set, isAggregated]);
    if (isAggregated) {
      return {
        variant,
        *writeList({ feed, addresses }) {
          const target = `inet ${table} ${set ?? `${setOf(feed)}.blocks`}`;
          yield replaceElements(table, target, " flags interval;");
          for (const blocks of blockTexts(addresses)) yield `add element ${target} { ${blocks.join(",")} }\n`;
        },
      };
    }
    return {
      variant,
      *writeList({ feed, addresses }) {
        const target = `inet ${table} ${set ?? setOf(feed)}`;
        yield replaceElements(table, target, "");
        yield* statements("add", target, addresses);
      },
      *writeChanges({ feed, added, removed }) {
        const target = `inet ${table} ${set ?? setOf(feed)}`;
        // Deleting an element that is missing would void the whole transaction, so each is added first.
        yield* statements("add", target, removed);
        yield* statements("delete", target, removed);
        yield* statements("add", target, added);
      },
    };
  },
};

/**
 * One of its own for each feed. A name may not begin with a digit there, as a feed's may; a feed's has no hyphen first.
 */
function setOf({ name }: FeedHead): string {
  const set = name.replaceAll("-", "_");
  return /^\d/.test(set) ? `_${set}` : set;
}

function replaceElements(table: string, target: string, flags: string): string {
  return `add table inet ${table}\nadd set ${target} { type ipv4_addr;${flags} }\nflush set ${target}\n`;
}

function* statements(verb: "add" | "delete", target: string, addresses: Uint32Array): Generator<string> {
  for (const elements of addressLines(addresses, "", ",")) yield `${verb} element ${target} { ${elements} }\n`;
}
