import { addressesOnly, type FeedItem } from "../feed-content.ts";
import type { Form } from "../form.ts";

type Category = {
  readonly number: number;
  readonly shortName: string;
  readonly description: string;
  readonly score: number;
};

/** A category for each classification. Scores, 1 to 127, let a rule such as `iprep:src,NFMalicious,>,100` choose. */
const CATEGORIES: Readonly<Record<FeedItem["classification"], Category>> = {
  malicious: { number: 1, shortName: "NFMalicious", description: "Seen scanning with malicious intent", score: 120 },
  suspicious: { number: 2, shortName: "NFSuspicious", description: "Seen scanning suspiciously", score: 80 },
  unknown: { number: 3, shortName: "NFUnknown", description: "Seen scanning, intent unknown", score: 40 },
  benign: { number: 4, shortName: "NFBenign", description: "Known benign scanner", score: 10 },
};

/** Its number leaves those after the classifications to lists of others. */
const CALLBACK: Category = {
  number: 50,
  shortName: "NFCallback",
  description: "Named by intruders as a host to fetch from or to connect to",
  score: 120,
};

/** Suricata's file of categories, which its reputation lists refer to by number. */
export const IPREP_CATEGORIES_CSV = [...Object.values(CATEGORIES), CALLBACK]
  .map(({ number, shortName, description }) => `${number},${shortName},${description}\n`)
  .join("");

/**
 * Suricata's reputation list: `network,category,score` lines. It has no changes, as Suricata reads whole lists. An
 * address is written as a network of one: of plain addresses Suricata keeps as many as its host table has memory for,
 * and takes from each the scores that other lists give to its network.
 */
export const iprep: Form = {
  name: "iprep",
  contentType: "text/plain; charset=utf-8",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ items }) {
      for await (const block of addressesOnly(items())) yield block.map(formatLine).join("");
    },
  }),
};

function formatLine({ ip, classification, naming }: FeedItem): string {
  const { number, score } = naming === undefined ? CATEGORIES[classification] : CALLBACK;
  return `${ip}/32,${number},${score}\n`;
}
