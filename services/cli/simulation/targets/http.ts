import { retry } from "@noisefloor/domain/time/retry.ts";
import { z } from "zod";
import { UserError } from "../../framework/command.ts";
import type { SimulationTarget } from "./target.ts";

/** An intake may be down for a moment, or busy. */
const RETRY_FOR_MS = 60_000;
const PER_REQUEST = 5_000;
const countsSchema = z.looseObject({ accepted: z.int() });

export type HttpTargetOptions = {
  /** Where the intake is. */
  readonly base: string;
  /** A sensor key, when the intake wants one. */
  readonly key: string | undefined;
};

/** To an intake over HTTP, without the personal dataset. */
export function httpTarget({ base, key }: HttpTargetOptions): SimulationTarget {
  const url = `${base.replace(/\/+$/, "")}/v1/observations`;
  const headers = { "content-type": "application/x-ndjson", ...(key !== undefined && { key }) };
  const post = async (body: string): Promise<number> => {
    const { status, text } = await request(url, headers, body);
    if (status === 202) return countsSchema.parse(JSON.parse(text)).accepted;
    const message = `${url} ${status === 0 ? "does not answer" : `answered ${status}`}: ${text.slice(0, 300)}`;
    throw status === 0 || status === 429 || status >= 500 ? new UnavailableError(message) : new UserError(message);
  };
  const isTransient = (error: unknown) => error instanceof UnavailableError;
  return {
    verb: "accepted",
    async send(observations) {
      // An intake takes personal data from the keys of their workspace only.
      const shared = observations.filter(({ observation }) => observation.dataset !== "personal");
      let accepted = 0;
      for (let first = 0; first < shared.length; first += PER_REQUEST) {
        const batch = shared.slice(first, first + PER_REQUEST);
        const body = batch.map(({ observation }) => JSON.stringify(observation)).join("\n");
        accepted += await retry(() => post(body), { forMs: RETRY_FOR_MS, isTransient });
      }
      return accepted;
    },
    close: async () => {},
  };
}

/** The intake may take the same request later. */
class UnavailableError extends UserError {}

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
