import { addressesOnly, type FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { makeDataSection } from "./data-section.ts";
import { beginArray, encodeMap, encodeNumber, encodeText } from "./encode.ts";
import { makeSearchTree, SEPARATOR, type SearchTree } from "./search-tree.ts";

const CHUNK_BYTES = 64 * 1_024;
/** What readers look for, from the end of the file. */
const METADATA_MARK = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");

/**
 * A MaxMind DB of format 2.0 for lookups without a network: `classification`, `last_seen` and `tags` of each listed
 * address, nothing for others. It has no changes, since readers open files as a whole.
 */
export const mmdb: Form = {
  name: "mmdb",
  contentType: "application/octet-stream",
  reads: "items",
  parameters: [],
  open: () => ({
    variant: "",
    async *writeList({ feed, addresses, items }) {
      const data = await makeDataSection(addressesOnly(items()), addresses.length);
      const tree = await makeSearchTree(addresses, data.offsets, data.size);
      for (let start = 0; start < tree.bytes.length; start += CHUNK_BYTES) {
        yield tree.bytes.subarray(start, start + CHUNK_BYTES);
      }
      yield SEPARATOR;
      yield* data.pieces;
      yield Buffer.concat([METADATA_MARK, encodeMetadata(feed, tree)]);
    },
  }),
};

function encodeMetadata(feed: FeedHead, { nodeCount, recordBits }: SearchTree): Buffer {
  const about = `Noisefloor feed ${feed.name}`;
  const members: Readonly<Record<string, Buffer>> = {
    binary_format_major_version: encodeNumber("uint16", 2),
    binary_format_minor_version: encodeNumber("uint16", 0),
    build_epoch: encodeNumber("uint64", Math.floor(feed.listedAt.getTime() / 1_000)),
    database_type: encodeText("Noisefloor-Feed"),
    description: encodeMap([[encodeText("en"), encodeText(about)]]),
    ip_version: encodeNumber("uint16", 6),
    languages: beginArray(0),
    node_count: encodeNumber("uint32", nodeCount),
    record_size: encodeNumber("uint16", recordBits),
  };
  return encodeMap(Object.entries(members).map(([key, value]) => [encodeText(key), value]));
}
