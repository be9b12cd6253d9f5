import { type Fields, isFields } from "../../formats/fields.ts";
import type { FileRecord } from "../../formats/format.ts";
import { recordIds } from "../../record-id.ts";

/** What a file's record is called among those that are equal to it. */
export type IdentifiedRecord = {
  /** The observation, with an id. */
  readonly value?: Fields;
  /** Its number, from 0, among records of equal bytes. */
  readonly ordinal: number;
};

/** Whether a record is counted among equal ones, as it brings no id of its own. */
export const lacksId = ({ value }: FileRecord): boolean => !isFields(value) || value.observation_id === undefined;

/**
 * Gives each record of some files, in their order, an id made of its time, its content and its ordinal among equal
 * ones. Records with an id of their own keep it: equal ones are one observation, and one dead letter.
 */
export function openIdentities(): (record: FileRecord) => IdentifiedRecord {
  const nextId = recordIds();
  const nextUnreadableId = recordIds();
  return ({ bytes, value }) => {
    const content = () => bytes.toString("latin1");
    if (!isFields(value)) return { ordinal: ordinalIn(nextUnreadableId(content())) };
    if (value.observation_id !== undefined) return { value, ordinal: ordinalIn(value.observation_id) };
    // With its time, so that a file whose times are shifted otherwise gives other observations.
    const observation_id = nextId(`${String(value.observed_at)} ${content()}`);
    return { value: { ...value, observation_id }, ordinal: ordinalIn(observation_id) };
  };
}

function ordinalIn(id: unknown): number {
  return Number(/^file:[0-9a-f]{32}\/(\d{1,10})$/.exec(String(id))?.[1] ?? 0);
}
