import { createHash, hash } from "node:crypto";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type IntakeRequests, intakeRequests } from "@noisefloor/clickhouse/intake/requests.ts";
import { formatRight, type Sender } from "@noisefloor/domain/access/publishing.ts";
import { inTime } from "@noisefloor/domain/time/unless-aborted.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";
import type { Logger } from "pino";

/** What a request is known by when it is sent again. */
export type RequestIdentity = {
  readonly digest: Buffer;
  /** Whether its sender named it: then no other request has this identity. */
  readonly isNamed: boolean;
};

/** A request among those of the same identity. */
export type ClaimedRequest = {
  /** A UUID, of which the ids of its records and dead letters are made. */
  readonly origin: string;
  /** When it came first, in milliseconds since 1970 UTC; undefined when that is not stored. */
  readonly beganAt: number | undefined;
  /** Stores when it came first, before its records are stored. */
  keepTime(beganAt: number): Promise<void>;
  /** Stores that it is answered, before the answer is sent. A failure is logged: records that are safe are accepted. */
  answer(): Promise<void>;
  /** Called when its connection is done with it. @param isAnswered whether the answer was sent, and says no failure. */
  end(isAnswered: boolean): void;
};

/**
 * Tells a request that is sent again from another one with the same content: one that was not answered, or failed, has
 * the ids that it had, in every process and after a restart.
 */
export type Requests = { claim(identity: RequestIdentity): Promise<ClaimedRequest> };

/** What a sender calls its request, so that it is the same when it is sent again. @throws HttpError 400. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined || key === "") return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new HttpError(400, "Idempotency-Key must have 1 to 255 printable ASCII characters");
}

const PIECE_BYTES = 1024 * 1024;

/** @param name the header `Idempotency-Key`; left out, the body identifies the request. */
export async function identify(sender: Sender, body: unknown, name: string | undefined): Promise<RequestIdentity> {
  const { right, keyId = "", sensorId = "" } = sender;
  const digest = createHash("sha256").update(JSON.stringify([formatRight(right), keyId, sensorId, name ?? null]));
  if (name === undefined && Buffer.isBuffer(body)) {
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      if (at > 0) await yieldToEventLoop();
      digest.update(body.subarray(at, at + PIECE_BYTES));
    }
  }
  return { digest: digest.digest(), isNamed: name !== undefined };
}

/** The name of the request with a number among those of the same identity. */
export function originOf({ digest }: RequestIdentity, number = 0): string {
  const hex = hash("sha256", Buffer.concat([digest, Buffer.from(`/${number}`)]));
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

/** What this process knows of the requests of one identity. */
type Known = {
  answered: number;
  beganAt: number;
  updatedAt: number;
  /** The numbers of those whose clients wait. */
  readonly waiting: Set<number>;
  /** The numbers from `answered` on that are answered, too. */
  readonly ahead: Set<number>;
};

/** Max identities that are remembered while no client waits: they count where the store does not answer. */
const MAX_KNOWN = 10_000;
/** How long a request waits for what the store knows, or for it to know more. */
const MAX_WAIT_MS = 2_000;

export function openRequests(client: ClickHouseClient, { now, log }: { now: () => number; log: Logger }): Requests {
  const known = new Map<string, Known>();
  const read = inBatches((digests: readonly string[]) => intakeRequests.readByIds(client, [...new Set(digests)]));
  const write = inBatches((rows: readonly IntakeRequests[]) => intakeRequests.write(client, rows));
  let isFailing = false;
  const attempt = async (work: Promise<void>) => {
    try {
      await inTime(work, MAX_WAIT_MS, "no answer in time");
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.warn({ err }, "which requests were answered could not be read or stored");
      isFailing = true;
    }
  };

  const remember = (id: string): Known => {
    const found = known.get(id) ?? { answered: 0, beganAt: 0, updatedAt: 0, waiting: new Set(), ahead: new Set() };
    known.delete(id);
    known.set(id, found);
    for (const [oldest, { waiting }] of known) {
      if (known.size <= MAX_KNOWN || waiting.size > 0) break;
      known.delete(oldest);
    }
    return found;
  };
  const load = async (id: string) => {
    const rows = await read(id);
    const row = rows.find(({ digest }) => digest === id);
    const state = remember(id);
    if (row !== undefined && row.updatedAt > state.updatedAt) Object.assign(state, row);
  };
  const store = (id: string, state: Known) => {
    state.updatedAt = Math.max(now(), state.updatedAt + 1);
    const { answered, beganAt, updatedAt } = state;
    return attempt(write({ digest: id, answered, beganAt, updatedAt }));
  };

  return {
    async claim(identity) {
      const id = identity.digest.readBigUInt64BE(0).toString();
      await attempt(load(id));
      const state = remember(id);
      let number = identity.isNamed ? 0 : state.answered;
      while (!identity.isNamed && (state.waiting.has(number) || state.ahead.has(number))) number++;
      state.waiting.add(number);
      let isEnded = false;
      return {
        origin: originOf(identity, number),
        beganAt: number === state.answered && state.beganAt > 0 ? state.beganAt : undefined,
        async keepTime(beganAt) {
          if (number !== state.answered) return;
          state.beganAt = beganAt;
          await store(id, state);
        },
        async answer() {
          if (isEnded || identity.isNamed) return;
          state.ahead.add(number);
          if (number !== state.answered) return;
          while (state.ahead.delete(state.answered)) state.answered++;
          state.beganAt = 0;
          await store(id, state);
        },
        end(isAnswered) {
          isEnded = true;
          state.waiting.delete(number);
          if (isAnswered || identity.isNamed) return;
          state.ahead.delete(number);
          if (number >= state.answered) return;
          // The answer has not arrived: the client sends the request again.
          for (let other = number + 1; other < state.answered; other++) state.ahead.add(other);
          state.answered = number;
          void store(id, state);
        },
      };
    },
  };
}

/**
 * Does for many callers together what takes one query for any number of them: the items of those who call while a
 * query runs are gathered for the next one.
 */
function inBatches<Item, Result>(act: (items: readonly Item[]) => Promise<Result>): (item: Item) => Promise<Result> {
  let next: { readonly items: Item[]; readonly result: Promise<Result> } | undefined;
  let running: Promise<unknown> = Promise.resolve();
  return (item) => {
    if (next === undefined) {
      const items: Item[] = [];
      const result = running.then(() => {
        next = undefined;
        return act(items);
      });
      running = result.catch(() => {});
      next = { items, result };
    }
    next.items.push(item);
    return next.result;
  };
}
