import { z } from "zod";
import { lineSchema } from "../line.ts";

const partSchema = z.object({
  name: z.string(),
  seconds: z.number(),
  before: z.object({ loadAverage: z.number(), busy: z.number() }),
  lines: z.array(lineSchema),
  notes: z.array(z.string()),
  failures: z.array(z.string()),
});

/** The result of a run, with which a later one is compared. */
export const reportSchema = z.object({
  made: z.string(),
  machine: z.string(),
  size: z.int(),
  seed: z.int(),
  rounds: z.int(),
  seconds: z.number(),
  /** Requests a second of an empty route, at the start. */
  emptyRoutePerSecond: z.number().optional(),
  parts: z.array(partSchema),
});

export type PartReport = z.output<typeof partSchema>;
export type Report = z.output<typeof reportSchema>;
