import { Readable } from "node:stream";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { LogFile } from "../file/log-files.ts";
import { type Ask, HistoryError, openSearchServer, type SearchServer } from "./search-server.ts";

/** Hits are read in the order of these times. */
const TIME = "@timestamp";
/** Hits are large: a page of T-Pot's takes some megabytes. */
const PAGE_HITS = 2_000;
/** What a server answers at most, unless its settings say otherwise. */
const MAX_PAGE_HITS = 10_000;
/** After as many a position is worth keeping. */
const SLICE_HITS = 50_000;

export type HistoryOptions = SearchServer & {
  /** In the query language of Lucene; left out, all. */
  readonly query?: string | undefined;
  /** Before which time, in milliseconds since 1970 UTC; left out, all. */
  readonly until?: number | undefined;
};

/** Some of the hits, oldest first. */
export type Slice = {
  /** Can be opened several times, and reads from the beginning each time. */
  readonly file: LogFile;
  /** Before which time all has been read; undefined after the last hit. To be called when the file was read to its end. */
  readonly next: () => number | undefined;
};

export type History = {
  /** How many hits there are from a time on, and how many have no time: these are not read. */
  count(from: number): Promise<{ readonly hits: number; readonly timeless: number }>;
  /** @param onHits called with how many hits were received since the last call. */
  slice(from: number, onHits?: (hits: number) => void): Slice;
};

const countSchema = z.object({ count: z.int() });
const pageSchema = z.object({
  hits: z.object({
    hits: z.array(
      z.object({ _index: z.string(), _id: z.string(), _source: z.unknown(), sort: z.tuple([z.unknown()]) }),
    ),
  }),
});
type Page = { readonly hits: readonly Hit[]; readonly next: number | undefined };
type Hit = { readonly time: number; readonly line: string };

/**
 * What an Elasticsearch or OpenSearch of any age holds. A page begins at the time of the last hit of the page before,
 * whose hits of this very time were left out: so there is no cursor that could be lost, each page can be asked for
 * again, and a time is all that has to be known to go on.
 */
export function openHistory({ query, until, ...server }: HistoryOptions): History {
  const ask = openSearchServer(server);
  const filters = query === undefined ? [] : [{ query_string: { query } }];
  const between = (gte: number, lt = until) => ({
    range: { [TIME]: { gte, ...(lt !== undefined && { lt }), format: "epoch_millis" } },
  });
  const count = async (more: object) => {
    const body = { query: { bool: { filter: filters, ...more } } };
    return countSchema.parse(await ask("_count", body)).count;
  };
  const search = (size: number, range: object) => searchPage(ask, size, { bool: { filter: [...filters, range] } });

  /** @returns the hits from a time on, and from which time on it goes on. Few indices have hits of the same day. */
  const page = async (from: number): Promise<Page> => {
    for (let size = PAGE_HITS; ; size = MAX_PAGE_HITS) {
      const end = Math.min(from + DAY_MS, until ?? Number.POSITIVE_INFINITY);
      const hits = await search(size, between(from, end));
      const last = hits.at(-1)?.time;
      if (hits.length < size || last === undefined) {
        const [first] = end === until ? [] : await search(1, between(end));
        return { hits, next: first?.time };
      }
      const whole = hits.filter(({ time }) => time < last);
      if (whole.length > 0) return { hits: whole, next: last };
      if (size === MAX_PAGE_HITS) {
        const time = new Date(last).toISOString();
        throw new HistoryError(
          `${MAX_PAGE_HITS} documents or more have the same ${TIME}, ${time}: they cannot be paged`,
        );
      }
    }
  };

  return {
    async count(from) {
      const [hits, timeless] = [
        await count({ filter: [...filters, between(from)] }),
        await count({ must_not: [{ exists: { field: TIME } }] }),
      ];
      return { hits, timeless };
    },
    slice(from, onHits) {
      let next: number | undefined = from;
      async function* lines() {
        next = from;
        for (let received = 0; received < SLICE_HITS && next !== undefined; ) {
          const read: Page | undefined = await page(next).catch((error: unknown) => {
            if (server.signal.aborted) return undefined;
            throw error;
          });
          if (read === undefined) return;
          received += read.hits.length;
          yield Buffer.from(read.hits.map(({ line }) => `${line}\n`).join(""));
          onHits?.(read.hits.length);
          next = read.next;
        }
      }
      const file = { name: server.index, bytes: 0, open: () => Readable.from(lines(), { highWaterMark: 1 }) };
      return { file, next: () => next };
    },
  };
}

/** @param size hits at most. @returns the oldest ones. */
async function searchPage(ask: Ask, size: number, query: object): Promise<Hit[]> {
  const body = { size, query, sort: [{ [TIME]: { order: "asc", unmapped_type: "date" } }] };
  const members = ["_index", "_id", "_source", "sort"].map((name) => `hits.hits.${name}`);
  const answer = await ask(`_search?filter_path=${["_shards", ...members].join(",")}`, body);
  const { hits = { hits: [] } } = pageSchema.partial().parse(answer);
  return hits.hits.map(({ _index, _id, _source, sort: [time] }) => {
    if (_source === undefined) throw new HistoryError(`the documents of ${_index} are not kept: it has no _source`);
    if (typeof time !== "number" || !Number.isSafeInteger(time)) {
      throw new HistoryError(`${TIME} of ${_index} is no date in milliseconds: ${String(time)}`);
    }
    return { time, line: JSON.stringify({ _index, _id, _source }) };
  });
}
