/** What the service and its peers must find alike. */
export type FoundAddresses = {
  readonly count: number;
  /** The first addresses in numeric order. */
  readonly first: readonly string[];
};

/** The same question in three languages. */
export type SearchQuestion = {
  readonly name: string;
  /** In our search language. */
  readonly query: string;
  /** In that of Lucene's StandardQueryParser. */
  readonly lucene: string;
  /** A condition of SQL over `ip` and `last_seen`. */
  readonly duckDb: string;
};

/** In our search language: addresses that were last seen then or later, in milliseconds since 1970 UTC. */
export const seenSince = (time: number) => `last_seen:>=${new Date(time).toISOString()}`;

const has = (field: string, condition: string) =>
  `ip IN (SELECT ip FROM facts WHERE field = '${field}' AND ${condition})`;
const is = (field: string, value: string) => has(field, `value = '${value}'`);
const phrase = (field: string, words: string) =>
  has(field, `regexp_matches(value, '(^|[^a-z0-9])${words.replace(" ", "[^a-z0-9]+")}([^a-z0-9]|$)')`);

/** Times in milliseconds since 1970 UTC. Before `oldest` no plan reaches; some days lie between `since` and now. */
export function searchQuestions(times: { readonly oldest: number; readonly since: number }): readonly SearchQuestion[] {
  const seen = (since: number) => ({
    query: seenSince(since),
    lucene: `+last_seen:[${since} TO *]`,
    duckDb: `last_seen >= ${since}`,
  });
  const [anyTime, lately] = [seen(times.oldest), seen(times.since)];
  return [
    {
      name: "a port",
      query: "port:22",
      lucene: "port:22",
      duckDb: is("port", "22"),
    },
    {
      name: "a HASSH",
      query: "hassh:7b",
      lucene: "hassh:7b",
      duckDb: is("hassh", "7b"),
    },
    {
      name: "all but a port",
      query: `NOT port:22 ${anyTime.query}`,
      lucene: `-port:22 ${anyTime.lucene}`,
      duckDb: `NOT ${is("port", "22")} AND ${anyTime.duckDb}`,
    },
    {
      name: "tag, port",
      query: "tags:heavy port:22",
      lucene: "+tag:heavy +port:22",
      duckDb: `${is("tag", "heavy")} AND ${is("port", "22")}`,
    },
    {
      name: "tag, network, country",
      query: "tags:heavy asn:12 country_code:CN",
      lucene: "+tag:heavy +asn:12 +country:CN",
      duckDb: `${is("tag", "heavy")} AND ${is("asn", "12")} AND ${is("country", "CN")}`,
    },
    {
      name: "classification, two ports, not a country",
      query: "classification:malicious (port:22 OR port:23) -country_code:CN",
      lucene: "+classification:malicious +(port:22 port:23) -country:CN",
      duckDb: `${is("classification", "malicious")} AND (${is("port", "22")} OR ${is("port", "23")}) AND NOT ${is("country", "CN")}`,
    },
    {
      name: "two tags, port, not a country, lately",
      query: `(tags:heavy OR tags:ordinary-0) port:22 -country_code:CN ${lately.query}`,
      lucene: `+(tag:heavy tag:ordinary-0) +port:22 -country:CN ${lately.lucene}`,
      duckDb: `(${is("tag", "heavy")} OR ${is("tag", "ordinary-0")}) AND ${is("port", "22")} AND NOT ${is("country", "CN")} AND ${lately.duckDb}`,
    },
    {
      name: "a wildcard over paths",
      query: "path:*99",
      lucene: "path:*99",
      duckDb: has("path", "value LIKE '%99'"),
    },
    {
      name: "a word in user agents",
      query: "useragent:scanner",
      lucene: "useragent:scanner",
      duckDb: phrase("useragent", "scanner"),
    },
    {
      name: "words in organizations",
      query: 'organization:"network 12"',
      lucene: 'organization:"network 12"',
      duckDb: phrase("organization", "network 12"),
    },
  ];
}
