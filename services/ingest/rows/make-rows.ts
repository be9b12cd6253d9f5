import type { Callback } from "@noisefloor/domain/callbacks/callback.ts";
import { provesContact } from "@noisefloor/domain/tags/contact.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import { observationsFormat } from "../formats/observations.ts";
import type { AcceptedRecord, IncomingRecord } from "../record.ts";
import { observationIdOf } from "../record-id.ts";
import type { AssignedTags } from "../tagging/assign-tags.ts";
import { type ObservationRow, toRow } from "./observation-row.ts";
import type { SessionPart, SessionState } from "./sessions/merge.ts";
import type { Sessions } from "./sessions/sessions.ts";

type Observation = ValidObservation["observation"];

export type RowOptions = {
  /** Joins the records of a session into one row. Without it each record is a row of its own. */
  readonly sessions?: Sessions | undefined;
  /** Finds whom an observation says to call. */
  readonly findCallbacks?: ((observation: Observation) => readonly Callback[]) | undefined;
  /** Fills in the network and country of the source, where its sensor left them out. */
  readonly enrich?: ((observation: Observation) => void) | undefined;
  /** Called with the observations of a batch before any of them is enriched. */
  readonly prepare?: ((observations: readonly Observation[]) => Promise<void>) | undefined;
  /** Adds the tags of rules to those that the sender named. */
  readonly assignTags?: ((observation: Observation, tagIds: readonly string[]) => AssignedTags) | undefined;
};

export type MadeRows = {
  /** One for each record, in the same order; records of a session that belong together have the same. */
  readonly rows: readonly ObservationRow[];
  /** Called when the rows are stored, or will not be. */
  release(): void;
};

/** Makes the rows of accepted records. */
export async function makeRows<R extends IncomingRecord>(
  accepted: readonly AcceptedRecord<R>[],
  {
    sessions,
    prepare,
    findCallbacks = () => [],
    enrich = () => {},
    assignTags = (_observation, tagIds) => ({ tagIds }),
  }: RowOptions,
): Promise<MadeRows> {
  await prepare?.(accepted.map(({ valid }) => valid.observation));
  const pace = createRecordPace();
  const parts = new Map<AcceptedRecord<R>, SessionPart>();
  if (sessions !== undefined) {
    for (const one of accepted) {
      const pause = pace(one.record.bytes.length);
      if (pause !== undefined) await pause;
      const part = toPart(one, findCallbacks);
      if (part !== undefined) parts.set(one, part);
    }
  }
  const joined = sessions === undefined || parts.size === 0 ? undefined : await sessions.join([...parts.values()]);
  try {
    const states = new Map([...parts.keys()].map((one, index) => [one, joined?.states[index]]));
    const made = new Map<SessionState, ObservationRow>();
    const rows: ObservationRow[] = [];
    for (const one of accepted) {
      const pause = pace(one.record.bytes.length);
      if (pause !== undefined) await pause;
      const state = states.get(one);
      if (state === undefined) {
        enrich(one.valid.observation);
        const { observation } = one.valid;
        observation.established = provesContact(observation);
        const callbacks = findCallbacks(observation);
        const identity = { observationId: idOf(one), format: formatOf(one), callbacks };
        rows.push(toRow(one.valid, { ...identity, ...assignTags(observation, one.tagIds) }));
        continue;
      }
      let row = made.get(state);
      if (row === undefined) {
        enrich(state.observation);
        const { ruleTagIds = [] } = assignTags(state.observation, []);
        row = toSessionRow(state, ruleTagIds, formatOf(one));
        made.set(state, row);
      }
      rows.push(row);
    }
    return { rows, release: () => joined?.release() };
  } catch (error) {
    joined?.release();
    throw error;
  }
}

const idOf = <R extends IncomingRecord>({ record, valid }: AcceptedRecord<R>) =>
  observationIdOf(valid.observation.observation_id, record);

const formatOf = <R extends IncomingRecord>({ record }: AcceptedRecord<R>) => record.format ?? observationsFormat.name;

/** A record of a session; undefined for one that stands alone. */
function toPart<R extends IncomingRecord>(
  accepted: AcceptedRecord<R>,
  findCallbacks: (observation: Observation) => readonly Callback[],
): SessionPart | undefined {
  const { record, valid, tagIds } = accepted;
  const session = valid.observation.session_id;
  if (session === undefined) return undefined;
  // A key's sessions are its own, as its observations are.
  const observationId = observationIdOf(`session:${session}`, record);
  valid.observation.established = provesContact(valid.observation);
  const callbacks = findCallbacks(valid.observation);
  return { valid, tagIds, callbacks, recordId: idOf(accepted), observationId };
}

/** A tag that a session has once got stays: rules that forbid something may match only its first records. */
function toSessionRow(session: SessionState, newRuleTagIds: readonly string[], format: string) {
  const { observationId, observation, observedAt, parts, ruleTagIds, body, callbacks, storedAt } = session;
  for (const id of newRuleTagIds) ruleTagIds.add(id);
  const tagIds = [...new Set([...session.tagIds, ...ruleTagIds])];
  const sharedTagIds = session.tagIds.filter((id) => ruleTagIds.has(id));
  return toRow(
    { observation, observedAt, isFilledIn: false },
    {
      ...{
        observationId,
        format,
        tagIds,
        ruleTagIds: [...ruleTagIds],
        sharedTagIds,
        sessionParts: [...parts],
        body,
        callbacks,
      },
      replacesStoredAt: storedAt,
    },
  );
}
