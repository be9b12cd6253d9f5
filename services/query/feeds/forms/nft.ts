import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import { type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import type { FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines } from "./address-lines.ts";
import { AGGREGATE, blockTexts } from "./aggregate.ts";

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
const HOOK: Parameter<string | undefined> = {
  name: "hook",
  description:
    "Where the script also drops packets, by a chain of its own with one rule. Packets from the set's addresses: `input` for what the machine receives, `forward` for what it passes on, `prerouting` for both. Packets to them: `output` for what the machine sends, `postrouting` also for what it passes on. A feed of callbacks always drops packets to its addresses.",
  schema: z.enum(["input", "forward", "prerouting", "output", "postrouting"]).optional(),
  takes: "input, forward, prerouting, output or postrouting",
  describedBy: "output",
  example: "prerouting",
};

/**
 * A script for `nft -f`, which runs as one transaction. A list makes table and set where they are missing and replaces
 * the set's elements, so that rules that use the set stay. Changes need a set that has the list of their cursor: with
 * `hook` they fail without it. A set without `interval` takes single additions fast; no `size`, since a set that is too small loads nothing.
 */
export const nft: Form = {
  name: "nft",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  parameters: [TABLE, SET, AGGREGATE, HOOK],
  open: (query) => {
    const table = readParameter(query, TABLE);
    const set = readParameter(query, SET);
    const isAggregated = readParameter(query, AGGREGATE);
    const hook = readParameter(query, HOOK);
    const variant = JSON.stringify([table, set, isAggregated, hook]);
    const nameOf = (feed: FeedHead) => set ?? (isAggregated ? `${setOf(feed)}.blocks` : setOf(feed));
    if (isAggregated) {
      return {
        variant,
        *writeList({ feed, addresses }) {
          const target = `inet ${table} ${nameOf(feed)}`;
          yield replaceElements(table, target, " flags interval;") + dropAt(hook, table, nameOf(feed), feed.of);
          for (const blocks of blockTexts(addresses)) yield `add element ${target} { ${blocks.join(",")} }\n`;
        },
      };
    }
    return {
      variant,
      *writeList({ feed, addresses }) {
        const target = `inet ${table} ${nameOf(feed)}`;
        yield replaceElements(table, target, "") + dropAt(hook, table, nameOf(feed), feed.of);
        yield* statements("add", target, addresses);
      },
      *writeChanges({ feed, added, removed }) {
        const target = `inet ${table} ${nameOf(feed)}`;
        yield dropAt(hook, table, nameOf(feed), feed.of);
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

/** A chain with one rule, however often it is run. The chain's name is of no set: it ends in the hook. */
function dropAt(hook: string | undefined, table: string, set: string, of: FeedSubject): string {
  if (hook === undefined) return "";
  const chain = `inet ${table} ${set}.${hook}`;
  const isOutward = of === "callbacks" || hook === "output" || hook === "postrouting";
  const rule = `add rule ${chain} ip ${isOutward ? "daddr" : "saddr"} @${set} drop\n`;
  return `add chain ${chain} { type filter hook ${hook} priority -10; }\nflush chain ${chain}\n${rule}`;
}

function* statements(verb: "add" | "delete", target: string, addresses: Uint32Array): Generator<string> {
  for (const elements of addressLines(addresses, "", ",")) yield `${verb} element ${target} { ${elements} }\n`;
}
