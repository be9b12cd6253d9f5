import type { SessionAddress, StoredSession } from "@noisefloor/clickhouse/tables/sessions.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { createRecordPace } from "@noisefloor/domain/time/own-turn.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { type BackoffOptions, retry } from "../retry.ts";
import { mergePart, type SessionPart, type SessionState } from "./merge.ts";
import { toSession } from "./stored.ts";

/** Reads sessions that began between two times, in milliseconds since 1970 UTC. */
export type ReadSessions = (
  sessions: readonly SessionAddress[],
  times: { readonly from: number; readonly to: number },
) => Promise<StoredSession[]>;

/** A record of a session, the id that the session's row is stored under, and the {@link sessionKey}. */
export type JoiningPart = SessionPart & { readonly observationId: string; readonly key: string };

/** What became of a session, with the records that joined it here. */
export type Joined = {
  /** One for each record, in the same order: the session as it is with all records that came so far. */
  readonly states: readonly SessionState[];
  /** Called when the rows are stored, or will not be. */
  release(): void;
};

/**
 * The sessions whose rows are being stored. The store knows all others: nothing is lost with the process, and a record
 * that comes late, again, or to another process finds its session there.
 */
export type Sessions = {
  join(parts: readonly JoiningPart[]): Promise<Joined>;
};

/** A session, or the latest one of those that share an id. */
type Holder = { state: SessionState | undefined };

type Entry = {
  /** How many batches hold it. */
  claims: number;
  readonly loaded: Promise<void>;
  current: Holder;
};

export function createSessions(read: ReadSessions): Sessions {
  const entries = new Map<string, Entry>();
  /** Ends when no batch merges its records. */
  let merging: Promise<unknown> = Promise.resolve();

  const claim = (parts: readonly JoiningPart[]) => {
    const claimed = new Map<string, Entry>();
    const missing: [part: JoiningPart, entry: Entry][] = [];
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const loaded = begun.then(() => load(missing));
    for (const part of parts) {
      const { key } = part;
      if (claimed.has(key)) continue;
      let entry = entries.get(key);
      if (entry === undefined) {
        entry = { claims: 0, loaded, current: { state: undefined } };
        entries.set(key, entry);
        missing.push([part, entry]);
      }
      entry.claims++;
      claimed.set(key, entry);
    }
    begin();
    return claimed;
  };

  const load = async (missing: readonly (readonly [JoiningPart, Entry])[]) => {
    if (missing.length === 0) return;
    const times = missing.map(([{ valid }]) => valid.observedAt);
    const between = { from: least(times) - DAY_MS, to: -least(times.map((time) => -time)) + DAY_MS };
    const found = new Map<string, SessionState>();
    const addresses = missing.map(([{ valid, observationId }]) => ({
      sourceIp: valid.observation.source_ip,
      observationId,
    }));
    for (const row of await read(addresses, between)) {
      const session = toSession(row);
      if (session !== undefined) found.set(keyOfRow(row), session);
    }
    for (const [part, entry] of missing) entry.current.state = found.get(part.key);
  };

  const merge = async (parts: readonly JoiningPart[], claimed: ReadonlyMap<string, Entry>) => {
    const touched: Holder[] = [];
    const pace = createRecordPace();
    for (const part of parts) {
      const pause = pace(0);
      if (pause !== undefined) await pause;
      const entry = claimed.get(part.key);
      if (entry === undefined) continue;
      const { state } = entry.current;
      // A sensor may give an id again: after a day it is another session.
      if (state !== undefined && Math.abs(state.observedAt - part.valid.observedAt) > DAY_MS) {
        entry.current = { state: undefined };
      }
      entry.current.state = mergePart(entry.current.state, part);
      touched.push(entry.current);
    }
    return touched.flatMap(({ state }) => state ?? []);
  };

  /** One batch after the other: between the turns of one, no other may add its records to the same sessions. */
  const mergeAlone: typeof merge = (parts, claimed) => {
    const states = merging.then(() => merge(parts, claimed));
    merging = states.catch(() => {});
    return states;
  };

  const release = (claimed: ReadonlyMap<string, Entry>) => {
    for (const [key, entry] of claimed) if (--entry.claims === 0) entries.delete(key);
  };

  return {
    async join(parts) {
      const claimed = claim(parts);
      try {
        await Promise.all(new Set([...claimed.values()].map(({ loaded }) => loaded)));
        const states = await mergeAlone(parts, claimed);
        let isReleased = false;
        return {
          states,
          release() {
            if (!isReleased) release(claimed);
            isReleased = true;
          },
        };
      } catch (error) {
        release(claimed);
        throw error;
      }
    },
  };
}

/** The same sessions for a source that waits for a store that is away. */
export function retryingSessions(sessions: Sessions, options: BackoffOptions): Sessions {
  return { join: (parts) => retry(() => sessions.join(parts), options) };
}

/** What tells a session from all others. */
export function sessionKey(
  { source_ip, dataset, workspace_id = "", sensor_id }: ValidObservation["observation"],
  observationId: string,
): string {
  return JSON.stringify([source_ip, dataset, workspace_id, sensor_id, observationId]);
}

function keyOfRow({ ip, dataset, workspace_id, sensor_id, observation_id }: StoredSession): string {
  return JSON.stringify([ip, dataset, workspace_id, sensor_id, observation_id]);
}

const least = (numbers: readonly number[]) => numbers.reduce((one, other) => Math.min(one, other));
