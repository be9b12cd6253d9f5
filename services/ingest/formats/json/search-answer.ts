import { skipSpace } from "./tokens.ts";

const QUOTE = 0x22;

/** How much of an answer stands before its hits: the time that it took, shards, an id for scrolling. */
const MAX_HEAD_BYTES = 8 * 1024;
/** What the first member of Elasticsearch's and OpenSearch's answers is called. */
const FIRST_MEMBER = /^"(?:took|timed_out|_scroll_id|pit_id|hits|_shards|num_reduce_phases|_clusters)"/;
const FIRST_LETTERS = new Set(Buffer.from("t_phn"));
const MAX_NAME_BYTES = 24;
const HITS = '"hits"';

/**
 * Where the hits in an answer to a search begin, after the bracket that opens their array; undefined when an object is
 * no such answer; "later" when the bytes end before that is known.
 */
export function startOfHits(bytes: Buffer, start: number): number | "later" | undefined {
  const name = skipSpace(bytes, start + 1);
  // Nearly all records are told by one letter.
  if (bytes[name] !== QUOTE || !FIRST_LETTERS.has(bytes[name + 1] ?? 0)) return undefined;
  if (!FIRST_MEMBER.test(bytes.toString("latin1", name, name + MAX_NAME_BYTES))) return undefined;
  const head = bytes.toString("latin1", start, start + MAX_HEAD_BYTES);
  const total = head.indexOf(HITS);
  const list = head.indexOf(HITS, total + 1);
  const bracket = list < 0 ? -1 : head.indexOf("[", list);
  if (total < 0 || list < 0 || bracket < 0) return bytes.length < start + MAX_HEAD_BYTES ? "later" : undefined;
  const isObject = /^\s*:\s*\{/.test(head.slice(total + HITS.length, total + HITS.length + 64));
  const isList = /^\s*:\s*$/.test(head.slice(list + HITS.length, bracket));
  return isObject && isList ? start + bracket + 1 : undefined;
}
