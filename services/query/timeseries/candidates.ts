import { ALL, and, or, type SetQuery } from "../search-sets/address-set.ts";

/**
 * A search that finds at least the addresses that match in some bucket of a time, from what they did in all of it: so
 * the observations of most others are not read. Only what rollups answer is left of it.
 */
export function candidatesOf(query: SetQuery): SetQuery {
  switch (query.type) {
    case "and":
      return and(query.of.map(candidatesOf));
    case "or":
      return or(query.of.map(candidatesOf));
    case "not":
      // An address that has it in one bucket may lack it in another.
      return ALL;
    case "constant":
      return query;
    case "set":
      return isOfObservations(query.set.type) ? ALL : query;
  }
}

type SetType = Extract<SetQuery, { type: "set" }>["set"]["type"];

/** To read these takes as long as the observations that they would spare; and each address of the time is `seen`. */
function isOfObservations(type: SetType): boolean {
  return type === "seen" || type === "observed" || type === "observed-before" || type === "counted";
}
