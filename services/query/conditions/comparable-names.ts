import { type ComparableText, comparable } from "@noisefloor/domain/query-language/text-match.ts";
import type { RiotRecord } from "../address/records.ts";
import { countryName } from "../address/response.ts";

type ComparableActor = { readonly id: string; readonly name: ComparableText };

const actors = new WeakMap<ReadonlyMap<string, RiotRecord>, readonly ComparableActor[]>();

/** The names of lists of actors as conditions compare them, prepared once for all queries until the lists change. */
export function comparableActors(lists: ReadonlyMap<string, RiotRecord>): readonly ComparableActor[] {
  const known = actors.get(lists);
  if (known !== undefined) return known;
  const made = [...lists].map(([id, { name }]) => ({ id, name: comparable(name) }));
  actors.set(lists, made);
  return made;
}

type ComparableCountry = { readonly code: ComparableText; readonly name: ComparableText };

const ALPHABET = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
let countries: readonly ComparableCountry[] | undefined;

/** Every two-letter country code that an observation may have, assigned or not, with its English name. */
export function comparableCountries(): readonly ComparableCountry[] {
  countries ??= ALPHABET.flatMap((first) =>
    ALPHABET.map((second) => ({ code: comparable(first + second), name: comparable(countryName(first + second)) })),
  );
  return countries;
}
