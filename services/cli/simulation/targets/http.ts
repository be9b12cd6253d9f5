import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { UserError } from "../../framework/command.ts";
import type { SimulationTarget } from "./target.ts";

/** An intake may be down for a moment, or busy. */
const ATTEMPTS = 8;
const PER_REQUEST = 5_000;
const countsSchema = z.looseObject({ accepted: z.int() });

export type HttpTargetOptions = {
  /** Where the intake is. */
  readonly base: string;
  /** Of a sensor, when the intake wants one. */
  readonly key: string | undefined;
};

/** To an intake over HTTP, without the personal dataset. */
export function httpTarget({ base, key }: HttpTargetOptions): SimulationTarget {
  const url = `${base.replace(/\/+$/, "")}/v1/observations`;
  const headers = { "content-type": "application/x-ndjson", ...(key !== undefined && { key }) };
  const post = async (body: string): Promise<number> => {
    for (let attempt = 1; ; attempt++) {
      const response = await request(url, headers, body);
      if (response.status === 202) return countsSchema.parse(JSON.parse(response.text)).accepted;
      const isPassing = response.status === 0 || response.status === 429 || response.status >= 500;
      if (!isPassing || attempt === ATTEMPTS) throw new UserError(formatFailure(url, response));
      await sleep(100 * 2 ** attempt);
    }
  };
  return {
    verb: "accepted",
    async send(observations) {
      // An intake takes personal data from the keys of their workspace only.
      const shared = observations.filter(({ observation }) => observation.dataset !== "personal");
      let accepted = 0;
      for (let first = 0; first < shared.length; first += PER_REQUEST) {
        const some = shared.slice(first, first + PER_REQUEST);
        accepted += await post(some.map(({ observation }) => JSON.stringify(observation)).join("\n"));
      }
      return accepted;
    },
    close: async () => {},
  };
}

function formatFailure(url: string, { status, text }: IntakeResponse): string {
  return `${url} ${status === 0 ? "does not answer" : `answered ${status}`}: ${text.slice(0, 300)}`;
}

type IntakeResponse = { readonly status: number; readonly text: string };

/** @returns the status 0 when nothing answers. */
async function request(url: string, headers: Record<string, string>, body: string): Promise<IntakeResponse> {
  try {
    const response = await fetch(url, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { status: 0, text: error instanceof Error ? error.message : String(error) };
  }
}
