import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";

const rangeSchema = z.object({ gte: z.number(), lt: z.number().optional() });
const searchSchema = z.object({
  size: z.int().optional(),
  query: z.object({
    bool: z.object({ filter: z.array(z.object({ range: z.object({ "@timestamp": rangeSchema }) })) }),
  }),
});

export type Document = { readonly id: number; readonly time: number; readonly source?: object };
export type Answer = { readonly status: number; readonly body: object };

/**
 * What a replay asks of an Elasticsearch, answered from memory as 6.8, 7.17 and 8.15 answer it.
 * @param before answers to the first requests. @param onRequest called before each answer.
 */
export async function serveDocuments(
  documents: readonly Document[],
  before: readonly Answer[] = [],
  onRequest: (index: number) => void = () => {},
) {
  const asked: { url: string; authorization: string | undefined }[] = [];
  // Equal times come in an order of the server's own.
  const mixed = ({ id }: Document) => (id * 7_919) % 1_000;
  const sorted = documents.toSorted((one, other) => one.time - other.time || mixed(one) - mixed(other));
  const server = createServer(async (request, response) => {
    const body: unknown = JSON.parse(await text(request));
    const { size = 10, query } = searchSchema.safeParse(body).data ?? { query: { bool: { filter: [] } } };
    const index = asked.push({ url: request.url ?? "", authorization: request.headers.authorization }) - 1;
    onRequest(index);
    const first = before[index];
    if (first !== undefined) return void response.writeHead(first.status).end(JSON.stringify(first.body));
    const [{ range } = { range: { "@timestamp": { gte: Number.POSITIVE_INFINITY } } }] = query.bool.filter;
    const { gte, lt = Number.POSITIVE_INFINITY } = { lt: undefined, ...range["@timestamp"] };
    const found = sorted.filter(({ time }) => time >= gte && time < lt);
    const hits = found
      .slice(0, size)
      .map(({ id, time, source = { id } }) => ({ _index: "logs", _id: String(id), _source: source, sort: [time] }));
    return void response.end(JSON.stringify({ _shards: { total: 1, failed: 0 }, count: found.length, hits: { hits } }));
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const address = server.address();
  return {
    asked,
    host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    close: () => void server.close(),
  };
}
