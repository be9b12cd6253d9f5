import { z } from "zod";
import { MAX_LIMIT } from "../parameters.ts";

/** Addresses with a time in milliseconds since 1970 UTC, the latest first. */
export const latestAddresses = z.array(z.tuple([z.int(), z.string()]));

const FIRST = "1, {limit:UInt32}";
const LATEST_FIRST = "one -> (-one.1, one.2)";

/** SQL: of all pairs of a time and an address, the {limit:UInt32} latest, ties by address. No more are in memory. */
export const latestOf = (pair: string) =>
  `arraySlice(arrayMap(${LATEST_FIRST}, groupArraySorted(${MAX_LIMIT})((-${pair}.1, ${pair}.2))), ${FIRST})`;

/** SQL: the latest pairs of several lists. */
export const latestOfLists = (list: string) =>
  `arraySlice(arraySort(${LATEST_FIRST}, arrayFlatten(groupArray(${list}))), ${FIRST})`;
