import type { SessionAddress, StoredSession } from "@noisefloor/clickhouse/observations/sessions.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import { createMutex } from "../../mutex.ts";
import { contradicts, furtherIdOf } from "./further.ts";
import { mergePart, type SessionPart, type SessionState, withConnection } from "./merge.ts";
import { toSession } from "./stored.ts";

/** Reads sessions that began between two times, in milliseconds since 1970 UTC. */
export type ReadSessions = (
  sessions: readonly SessionAddress[],
  times: { readonly from: number; readonly to: number },
) => Promise<StoredSession[]>;

/** What became of a session, with the records that joined it here. */
export type Joined = {
  /**
   * One for each record, in the same order: the session, or its further observation that the record belongs to, as it
   * is with all records that came so far.
   */
  readonly states: readonly SessionState[];
  /** Called when the rows are stored, or will not be. */
  release(): void;
};

/**
 * The sessions whose rows are being stored. The store knows all others: nothing is lost with the process, and a record
 * that comes late, again, or to another process finds its session there.
 */
export type Sessions = {
  join(parts: readonly SessionPart[]): Promise<Joined>;
};

/** A session or a further observation of one, or the latest of those that share an id. */
type Holder = { state: SessionState | undefined };

/** A record of a session, and the {@link sessionKey}. */
type JoiningPart = SessionPart & { readonly key: string };

/** A record whose session is not settled yet. */
type Placing = {
  readonly part: JoiningPart;
  /** Its position in the batch. */
  readonly index: number;
  /** The session that it contradicts. */
  readonly session?: { readonly observationId: string; readonly holder: Holder } | undefined;
  /** Whether what it contradicts began with this batch: then the store has no further observations of it. */
  readonly isNew?: boolean;
};

type Entry = {
  /** How many batches hold it. */
  claims: number;
  readonly loaded: Promise<void>;
  current: Holder;
};

export function createSessions(read: ReadSessions): Sessions {
  const entries = new Map<string, Entry>();
  /** While one batch merges its records and yields, no other may add its records to the same sessions. */
  const lock = createMutex();

  const claim = (placings: readonly Placing[], claimed: Map<string, Entry>) => {
    const missing: [part: JoiningPart, entry: Entry][] = [];
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const loaded = begun.then(() => load(missing));
    for (const { part, isNew = false } of placings) {
      const { key } = part;
      if (claimed.has(key)) continue;
      let entry = entries.get(key);
      if (entry === undefined) {
        entry = { claims: 0, loaded, current: { state: undefined } };
        entries.set(key, entry);
        if (!isNew) missing.push([part, entry]);
      }
      entry.claims++;
      claimed.set(key, entry);
    }
    begin();
    return Promise.all(new Set(placings.map(({ part }) => claimed.get(part.key)?.loaded)));
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

  /** Merges the records into what has their keys. @returns those that contradict it, with the keys of further ones. */
  const mergeAt = async (
    level: number,
    placings: readonly Placing[],
    claimed: ReadonlyMap<string, Entry>,
    holders: Holder[],
  ) => {
    const further: Placing[] = [];
    const begun = new Set<Holder>();
    const pace = createRecordPace();
    for (const placing of placings) {
      const pause = pace(0);
      if (pause !== undefined) await pause;
      const { part, index } = placing;
      const entry = claimed.get(part.key);
      if (entry === undefined) continue;
      if (entry.current.state === undefined) begun.add(entry.current);
      // A sensor may give an id again: after a day it is another session.
      else if (Math.abs(entry.current.state.observedAt - part.valid.observedAt) > DAY_MS) {
        entry.current = { state: undefined };
      }
      const holder = entry.current;
      holders[index] = holder;
      if (holder.state !== undefined && contradicts(holder.state, part.valid.observation)) {
        const session = placing.session ?? { observationId: part.observationId, holder };
        const observationId = furtherIdOf(session.observationId, part.valid.observation, level);
        if (observationId !== undefined) {
          const next = withKey({ ...part, observationId });
          further.push({ part: next, index, session, isNew: begun.has(holder) });
          continue;
        }
      }
      holder.state = mergePart(holder.state, part);
    }
    return further;
  };

  const merge = async (first: readonly Placing[], claimed: Map<string, Entry>) => {
    const holders: Holder[] = [];
    const sessionOf = new Map<Holder, Holder>();
    let placings = first;
    for (let level = 0; placings.length > 0; level++) {
      if (level > 0) await claim(placings, claimed);
      const further = await mergeAt(level, placings, claimed, holders);
      for (const { session, index } of placings) {
        const holder = holders[index];
        if (session !== undefined && holder !== undefined) sessionOf.set(holder, session.holder);
      }
      placings = further;
    }
    for (const [holder, { state }] of sessionOf) {
      if (holder.state !== undefined && state !== undefined) holder.state = withConnection(holder.state, state);
    }
    return holders.flatMap(({ state }) => state ?? []);
  };

  const release = (claimed: ReadonlyMap<string, Entry>) => {
    for (const [key, entry] of claimed) if (--entry.claims === 0) entries.delete(key);
  };

  return {
    async join(parts) {
      const claimed = new Map<string, Entry>();
      try {
        const placings = parts.map((part, index) => ({ part: withKey(part), index }));
        await claim(placings, claimed);
        const unlock = await lock();
        const states = await merge(placings, claimed).finally(unlock);
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

/** What tells a session from all others. Unambiguous, as only the workspace may contain a line feed. */
function sessionKey(
  { source_ip, dataset, workspace_id = "", sensor_id }: ValidObservation["observation"],
  observationId: string,
): string {
  return `${source_ip}\n${dataset}\n${workspace_id}\n${sensor_id}\n${observationId}`;
}

function withKey(part: SessionPart): JoiningPart {
  return { ...part, key: sessionKey(part.valid.observation, part.observationId) };
}

function keyOfRow({ ip, dataset, workspace_id, sensor_id, observation_id }: StoredSession): string {
  return `${ip}\n${dataset}\n${workspace_id}\n${sensor_id}\n${observation_id}`;
}

const least = (numbers: readonly number[]) => numbers.reduce((one, other) => Math.min(one, other));
