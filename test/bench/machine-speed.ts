import { z } from "zod";
import { spreadOf } from "./line.ts";
import { getRequest } from "./load/protocol.ts";
import { startScript } from "./load/script.ts";
import type { Run } from "./part.ts";

/** Where the limits in milliseconds were set, an empty route answered so many requests a second. */
export const SPEED_OF_LIMITS = 64_000;

const CONNECTIONS = 64;
/** As long as an answer about an address. */
const BODY = { ip: "192.0.2.1", noise: true, riot: false, message: "x".repeat(150) };

/** A route that answers with a body and does nothing else. */
export type EmptyRoute = { readonly port: number; close(): Promise<void> };

export async function startEmptyRoute(body: unknown): Promise<EmptyRoute> {
  const script = startScript(new URL("peers/empty-route.ts", import.meta.url));
  try {
    const { port } = z.object({ port: z.int() }).parse(await script.ask({ body }));
    return { port, close: script.close };
  } catch (error) {
    await script.close();
    throw error;
  }
}

/** How many requests a second an empty route answers here and now. */
export async function measureSpeed({ load, pace, seed }: Pick<Run, "load" | "pace" | "seed">): Promise<number> {
  const route = await startEmptyRoute(BODY);
  const requests = [getRequest("/v3/community/192.0.2.1", {})];
  const order = { port: route.port, requests, connections: CONNECTIONS, seconds: pace.loadSeconds, seed };
  try {
    // Node compiles the code of a route while it is first asked.
    await load.play(order, [200]);
    const rates: number[] = [];
    for (let round = 0; round < pace.rounds; round++) rates.push((await load.play(order, [200])).perSecond);
    return Math.round(spreadOf(rates).median);
  } finally {
    await route.close();
  }
}
