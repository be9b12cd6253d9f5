import { z } from "zod";
import { against, type Line, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { inTurn, timeOf } from "../rounds.ts";
import type { World } from "../world.ts";

const NAME = "all";
/** Within the reach of every plan. */
const QUERY = "last_seen:30d";

/** `PUT /v3/feeds/{name}`, which refreshes a feed, and what its consumers ask for. */
export const feeds: Part = {
  name: "feeds",
  what: "refreshing a feed of most addresses against counting them, and fetching it whole, changed and unchanged",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    return measureEach({ "a feed of most addresses": () => measureFeed(run, world) }, run.say);
  },
};

const feedSchema = z.object({ count: z.int(), cursor: z.string(), truncated: z.boolean() });

async function measureFeed({ pace }: Run, world: World): Promise<Line[]> {
  const url = `http://127.0.0.1:${world.service.port}`;
  const headers = { key: world.key, "accept-encoding": "identity" };
  let edition = 0;
  /** A new definition is refreshed before the answer. */
  const refresh = async () => {
    const body = JSON.stringify({ query: QUERY, limit: 1_000_000, description: `edition ${edition++}` });
    const answer = await fetch(`${url}/v3/feeds/${NAME}`, { method: "PUT", headers, body });
    return feedSchema.parse(await answer.json());
  };
  const fetchList = async (parameters: string, more: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/v3/feeds/${NAME}.txt${parameters}`, { headers: { ...headers, ...more } });
    return { answer, text: await answer.text() };
  };
  const { count, cursor, truncated } = await refresh();
  const { answer, text } = await fetchList("");
  const lines = text.split("\n").length - 1;
  const fault = lines === count && (truncated || count > 0) ? undefined : `${lines} lines of ${count} addresses`;
  const etag = answer.headers.get("etag") ?? "";
  const times = await inTurn(
    {
      refresh: () => timeOf(refresh, pace),
      search: () => timeOf(() => world.service.get(`/v3/gnql/count?query=${encodeURIComponent(QUERY)}`), pace),
      whole: () => timeOf(() => fetchList(""), pace),
      since: () => timeOf(() => fetchList(`?since=${cursor}`), pace),
      unchanged: () => timeOf(() => fetchList("", { "if-none-match": etag }), pace),
    },
    pace,
  );
  return [
    against(
      { name: `refresh of ${count} addresses`, unit: "ms", peer: "counting them", fault },
      times.refresh,
      times.search,
    ),
    within(`refresh of ${count} addresses`, times.refresh, 3_000, fault),
    within(`${count} addresses as txt`, times.whole, 1_000, fault),
    within("what changed since a cursor", times.since, 20, fault),
    within("an unchanged list, 304", times.unchanged, 2, fault),
  ];
}
