import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { MAX_DAYS } from "@noisefloor/domain/time/window.ts";
import { type Parameter, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { otherLengths, WINDOW_NAMES } from "../parameters.ts";

export const QUERY: Parameter<string> = {
  name: "query",
  description: `What to search for, in the search language: at most ${MAX_QUERY_LENGTH} characters.`,
  takes: "a query",
  schema: z.string().min(1),
  describedBy: "input",
  example: "tags:mirai port:23",
};

export const SEARCH_DAYS: Parameter<number | undefined> = {
  name: "days",
  never: WINDOW_NAMES,
  description:
    "Only observations of the last days count, in whole hours up to the current one. Left out, all that is stored of an address counts.",
  takes: `a whole number from 1 to ${MAX_DAYS}`,
  schema: z
    .string()
    .regex(/^[1-9]\d?$/)
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_DAYS))
    .optional(),
  describedBy: "output",
  example: "7",
};

/** The most that a list of statistics has. */
export const MAX_ENTRIES = 10_000;

export const ENTRIES = wholeNumber({
  name: "count",
  alsoCalled: otherLengths("count"),
  description: "How many entries each list has at most, those with the most addresses.",
  min: 1,
  max: MAX_ENTRIES,
  fallback: 1_000,
});
