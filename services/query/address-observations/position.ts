import { z } from "zod";

/** Where a list of observations, newest first, continues: after this one. */
export type Position = {
  /** `observed_at`, in milliseconds since 1970 UTC. */
  readonly at: number;
  /** Orders observations of the same millisecond: a hash, so that a cursor tells nothing of sensors or workspaces. */
  readonly tie: string;
};

/** Before all observations. */
export const NEWEST: Position = { at: Date.UTC(2200, 0), tie: "" };

export function formatPosition({ at, tie }: Position): string {
  return `${at}-${tie}`;
}

/** Parses what {@link formatPosition} made. An empty text counts as left out. */
export const positionSchema = z
  .string()
  .regex(/^(?:\d{1,13}-[0-9a-f]{16})?$/)
  .optional()
  .transform((text): Position | undefined => {
    const [at, tie] = text?.split("-") ?? [];
    return at === undefined || tie === undefined ? undefined : { at: Number(at), tie };
  });
