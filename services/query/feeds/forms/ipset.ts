import { type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import type { FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines } from "./address-lines.ts";

/** ipset's names have at most 31 characters, of which the new set's `.new` takes four. */
const MAX_LENGTH = 27;
/** More than a feed can have, and always the same: with another one, `create -exist` fails for a set that is there. */
const MAX_ELEMENTS = 1_048_576;

const SET: Parameter<string | undefined> = {
  name: "set",
  description: "ipset's set. By default the first 27 characters of the feed's name.",
  schema: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,26}$/)
    .optional(),
  takes: `letters, digits, _ and -, at most ${MAX_LENGTH}`,
  describedBy: "output",
  example: "noisefloor-recent",
};

/**
 * Lines for `ipset restore`. A list fills a new set and swaps it with the old one, so that the old one is whole until
 * then: a restore ends at its first error, and keeps what came before.
 * Changes need a set that has the list of their cursor.
 */
export const ipset: Form = {
  name: "ipset",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  parameters: [SET],
  open: (query) => {
    const given = readParameter(query, SET);
    const setOf = ({ name }: FeedHead) => given ?? name.slice(0, MAX_LENGTH);
    return {
      variant: given ?? "",
      *writeList({ feed, addresses }) {
        const set = setOf(feed);
        // A dot, which no feed's name and no `set` has: the new set is never the set of another feed.
        const next = `${set}.new`;
        const kind = `hash:ip family inet maxelem ${MAX_ELEMENTS}`;
        yield `create ${set} ${kind} -exist\ncreate ${next} ${kind} -exist\nflush ${next}\n`;
        yield* addressLines(addresses, `add ${next} `, "\n");
        yield `swap ${next} ${set}\ndestroy ${next}\n`;
      },
      *writeChanges({ feed, added, removed }) {
        yield* addressLines(removed, `del ${setOf(feed)} `, " -exist\n");
        yield* addressLines(added, `add ${setOf(feed)} `, " -exist\n");
      },
    };
  },
};
