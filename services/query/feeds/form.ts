import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import type { Parameter, RawQuery } from "@noisefloor/http/requests/parameters.ts";
import type { FeedChanges, FeedList } from "./feed-content.ts";

/** A body piece by piece, each of some tens of kilobytes. */
export type Chunks = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

/** How a request wants a form to be written. */
export type FormWriter = {
  /** Tells apart the bodies that parameters make of the same list, for caches and ETags. */
  readonly variant: string;
  readonly writeList: (list: FeedList) => Chunks;
  /** Missing where a form has no `since`. */
  readonly writeChanges?: (changes: FeedChanges) => Chunks;
};

/** One format of a feed, `/v3/feeds/{name}.{form}`. The same list and parameters make the same bytes. */
export type Form = {
  /** The ending of its path. */
  readonly name: string;
  readonly contentType: string;
  /** What it says of a list, by the list's members. Where that is more than hosts, it changes while they do not. */
  readonly reads: "hosts" | "items" | "objects";
  /** Set for a form of names, which other feeds have none of. */
  readonly of?: FeedSubject;
  /** For OpenAPI and for naming unknown parameters. */
  readonly parameters: readonly Parameter<unknown>[];
  /** @throws HttpError 400 that names a wrong parameter. */
  readonly open: (query: RawQuery) => FormWriter;
};
