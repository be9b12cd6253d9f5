import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { expect } from "vitest";
import { ingestOf } from "../worlds/consuming-world.ts";
import { makeApp } from "../worlds/http.ts";
import type { World } from "../worlds/world.ts";

export type HttpIntake = {
  /** Posts observations, and other lines as they are, and expects them to be received. */
  post(observations: readonly (object | string)[], key?: string): Promise<void>;
  close(): Promise<void>;
};

/** The intake of a world over HTTP, without Kafka. */
export async function openHttpIntake(world: World, now: () => number): Promise<HttpIntake> {
  const app = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now)).register);
  return {
    async post(observations, key) {
      const response = await app.inject({
        method: "POST",
        url: "/v1/observations",
        payload: observations.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n"),
        ...(key === undefined ? {} : { headers: { key } }),
      });
      expect([202, 422]).toContain(response.statusCode);
    },
    close: () => app.close(),
  };
}
