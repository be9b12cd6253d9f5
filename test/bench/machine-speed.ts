import { spreadOf } from "./line.ts";
import { getRequest } from "./load/protocol.ts";
import type { Run } from "./part.ts";
import { startEmptyRoute } from "./peers/start-empty-route.ts";
import { inTurn } from "./rounds.ts";

const CONNECTIONS = 64;
/** As long as an answer about an address. */
const BODY = { ip: "192.0.2.1", noise: true, riot: false, message: "x".repeat(150) };

/** Measures the requests a second of an empty route, here and now. */
export async function measureSpeed({ load, pace, seed }: Pick<Run, "load" | "pace" | "seed">): Promise<number> {
  const route = await startEmptyRoute(BODY);
  const requests = [getRequest("/v3/community/192.0.2.1", {})];
  const order = { port: route.port, requests, connections: CONNECTIONS, seconds: pace.loadSeconds, seed };
  const play = () => load.play(order, [200]);
  try {
    // Node compiles the code of a route while it is first asked.
    await play();
    const { results } = await inTurn({ results: play }, pace);
    return Math.round(spreadOf(results.map(({ perSecond }) => perSecond)).median);
  } finally {
    await route.close();
  }
}
