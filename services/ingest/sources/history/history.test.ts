import { expect, onTestFinished, test } from "vitest";
import { type Answer, type Document, serveDocuments } from "../../../../test/support/servers/documents.ts";
import { openHistory } from "./history.ts";

async function serve(documents: readonly Document[], before: Answer[] = []) {
  const server = await serveDocuments(documents, before);
  onTestFinished(server.close);
  const retries: string[] = [];
  const stopping = new AbortController();
  const history = openHistory({
    url: `http://reader:secret@${server.host}/base/`,
    ...{ index: "logs", signal: stopping.signal },
    onRetry: (error) => void retries.push(String(error)),
  });
  return { ...server, retries, stopping, history };
}

async function readAll({ history }: Pick<Awaited<ReturnType<typeof serve>>, "history">, start = 0) {
  const ids: number[] = [];
  const positions: number[] = [];
  for (let from: number | undefined = start; from !== undefined; ) {
    const { file, next } = history.slice(from);
    for await (const chunk of file.open()) {
      for (const line of String(chunk).split("\n").slice(0, -1)) ids.push(JSON.parse(line)._source.id);
    }
    from = next();
    if (from !== undefined) positions.push(from);
  }
  return { ids, positions };
}

const DAY = 86_400_000;

test("each document is read once, the oldest first, however many have the same time or lie years apart", async () => {
  const times = [
    1_000,
    ...Array.from({ length: 5_000 }, (_, index) => 400 * DAY + Math.floor(index / 700) * 10),
    9_000 * DAY,
  ];
  const documents = times.map((time, id) => ({ id, time }));
  const { ids } = await readAll(await serve(documents.toReversed()));
  expect(ids.toSorted((one, other) => one - other)).toEqual(documents.map(({ id }) => id));
  expect(ids.map((id) => times[id] ?? 0)).toEqual(times);
});

test("as many documents of the same millisecond as a server answers with are read, and more are an error that names the time", async () => {
  const many = Array.from({ length: 9_999 }, (_, id) => ({ id, time: 5 }));
  expect((await readAll(await serve(many))).ids).toHaveLength(9_999);
  const tooMany = [...many, { id: 9_999, time: 5 }];
  await expect(readAll(await serve(tooMany))).rejects.toThrow(
    "10000 documents or more have the same @timestamp, 1970-01-01T00:00:00.005Z: they cannot be paged",
  );
});

test("from a position, all documents that were not read before it are read", async () => {
  const documents = Array.from({ length: 60_000 }, (_, id) => ({ id, time: 1_000 + Math.floor(id / 3) }));
  const server = await serve(documents);
  const { ids, positions } = await readAll(server);
  expect(ids).toHaveLength(60_000);
  expect(positions).toHaveLength(1);
  const [position = 0] = positions;
  const rest = await readAll(server, position);
  expect(rest.ids.length).toBeLessThan(20_000);
  expect([...ids.slice(0, 60_000 - rest.ids.length), ...rest.ids]).toEqual(ids);
});

test("a busy server is asked again; shards that fail and a server that went away are, too", async () => {
  const failed = { status: 200, body: { _shards: { total: 3, failed: 1 }, hits: { hits: [] } } };
  const server = await serve([{ id: 1, time: 5 }], [{ status: 429, body: {} }, { status: 503, body: {} }, failed]);
  expect((await readAll(server)).ids).toEqual([1]);
  expect(server.retries).toEqual([
    `HistoryError: http://${server.host}/base is busy: status 429`,
    `HistoryError: http://${server.host}/base is busy: status 503`,
    "HistoryError: 1 of 3 shards of logs failed",
  ]);
});

test("the user and the password of the URL are sent, and stand in no message", async () => {
  const server = await serve([], [{ status: 401, body: {} }]);
  const message = await server.history.count(0).catch(String);
  expect(message).toBe(
    `HistoryError: http://${server.host}/base asks for a user: give them in the URL, or ELASTICSEARCH_API_KEY`,
  );
  expect(server.asked).toMatchObject([{ url: "/base/logs/_count", authorization: `Basic ${btoa("reader:secret")}` }]);
});

test.each([
  [403, { error: { reason: "action is unauthorized" } }, "this user of URL may not read logs: action is unauthorized"],
  [
    404,
    { error: { type: "index_not_found_exception", reason: "no such index [logs]" } },
    "no index of URL is called logs",
  ],
  [200, { _shards: { total: 0, failed: 0 } }, "no index of URL is called logs"],
  [200, { it: "works" }, "URL does not answer like Elasticsearch or OpenSearch"],
  [
    400,
    { error: { reason: "all shards failed", root_cause: [{ reason: "Failed to parse query [a:]" }] } },
    "URL answered with 400: Failed to parse query [a:]",
  ],
])("a %i that no retry mends says what is wrong: %j", async (status, body, expected) => {
  const server = await serve([], [{ status, body }]);
  const message = await server.history.count(0).catch(String);
  expect(message).toBe(`HistoryError: ${expected.replace("URL", `http://${server.host}/base`)}`);
  expect(server.retries).toEqual([]);
});

test("an address at which nothing listens, plain HTTP for https, and what is no URL are told apart", async () => {
  const { host } = await serve([]);
  const options = { index: "logs", signal: new AbortController().signal, onRetry: () => {} };
  const fault = (url: string) =>
    openHistory({ ...options, url })
      .count(0)
      .catch(String);
  expect(await fault("http://127.0.0.1:1")).toMatch(/^HistoryError: http:\/\/127\.0\.0\.1:1 does not answer \(.+\)$/);
  expect(await fault(`https://${host}`)).toMatch(/speaks no TLS, it seems: try http:\/\/$/);
  expect(() => openHistory({ ...options, url: "es.example.org:9200" })).toThrow(
    "--elasticsearch takes a URL like https://",
  );
});

test("a reader that is stopped while its server is busy ends without an error", async () => {
  const server = await serve([{ id: 1, time: 5 }], Array(9).fill({ status: 503, body: {} }));
  const { signal } = server.stopping;
  setTimeout(() => server.stopping.abort(), 500);
  for await (const chunk of server.history.slice(0).file.open()) expect(String(chunk)).toBe("");
  expect(signal.aborted).toBe(true);
});
