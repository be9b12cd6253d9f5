import { wordsOf } from "@noisefloor/domain/query-language/conditions.ts";
import type { Query, QueryError } from "@noisefloor/domain/query-language/query.ts";
import { comparableTags } from "@noisefloor/domain/query-language/tag-conditions.ts";
import { type KnowsName, quoteNames, type UnquotedName } from "@noisefloor/domain/query-language/unquoted-names.ts";
import type { SetQuery } from "../conditions/address-set.ts";
import { comparableCountries } from "../conditions/comparable-names.ts";
import type { Names } from "../conditions/names.ts";
import { resolveQuery } from "../conditions/resolve-query.ts";
import { readInTurn } from "./admit-query.ts";

/** A query as it runs. */
export type MeantQuery = {
  readonly query: Query;
  /** As it was sent, or with quotes around names that were meant together. */
  readonly text: string;
  /** What is no error and can match nothing, or hardly what was meant. */
  readonly warnings: readonly string[];
};

/** How many addresses each of some sets has. */
type CountEach = (sets: readonly SetQuery[]) => Promise<readonly number[]>;

/** Reads a query by the names that there are. @param countEach called only about words after a value without quotes. */
export async function readMeantQuery(
  text: string,
  { now, names, countEach }: { readonly now: number; readonly names: Names; readonly countEach: CountEach },
): Promise<MeantQuery | { readonly errors: readonly QueryError[] }> {
  const read = await readInTurn(text, now);
  if ("errors" in read) return read;
  if (read.unquoted.length > 0) {
    const quoted = quoteNames(text, read.unquoted, await readNames(read.unquoted, names, countEach));
    const adjusted = quoted === text ? read : await readInTurn(quoted, now, Number.POSITIVE_INFINITY);
    if (!("errors" in adjusted)) return { ...adjusted, text: quoted };
  }
  return { ...read, text };
}

/** In lower case, by word: ` a b \n c `. */
type NameWords = { readonly wholes: ReadonlySet<string>; readonly words: string };

const spaced = (text: string) => ` ${wordsOf(text).join(" ")} `;
const toNameWords = (wholes: readonly string[], names = wholes): NameWords => ({
  wholes: new Set(wholes.map((text) => text.toLowerCase())),
  words: names.map(spaced).join("\n"),
});

const countryNames = comparableCountries().flatMap(({ name }) => (name.text === "" ? [] : [name.text]));
const COUNTRIES = toNameWords([...comparableCountries().map(({ code }) => code.text), ...countryNames], countryNames);

/** Fields whose names are read from the store, for at most so many values of a query. */
const STORED: ReadonlySet<string> = new Set(["organization", "city", "region", "rdns", "user_agent"]);
const MAX_STORED_VALUES = 4;

async function readNames(unquoted: readonly UnquotedName[], names: Names, countEach: CountEach): Promise<KnowsName> {
  const { names: tags } = comparableTags(names.tags);
  const actors = toNameWords([...names.networks.lists.actor.values()].map(({ name }) => name));
  const stored = await readStored(unquoted, names, countEach);
  const inMemory = (field: string): NameWords | undefined =>
    field === "country" ? COUNTRIES : field === "actor" ? actors : undefined;
  return {
    isWhole(field, text) {
      if (field === "tag") return tags.has(text.toLowerCase());
      return inMemory(field)?.wholes.has(text.toLowerCase()) ?? stored.has(keyOf("equals", field, text));
    },
    isMeant(field, text) {
      if (field === "tag") return tags.has(text.toLowerCase());
      return inMemory(field)?.words.includes(spaced(text)) ?? stored.has(keyOf("words", field, text));
    },
  };
}

const keyOf = (type: "equals" | "words", field: string, text: string) => `${type} ${field} ${text.toLowerCase()}`;

/** The keys of those names that an address has. */
async function readStored(unquoted: readonly UnquotedName[], names: Names, countEach: CountEach): Promise<Set<string>> {
  const sets = new Map<string, SetQuery>();
  const addSet = async (type: "equals" | "words", field: UnquotedName["field"], text: string) => {
    if (field === "tag") return;
    const words = wordsOf(text);
    const condition =
      type === "words" && words.length > 0
        ? ({ type, field, words } as const)
        : ({ type: "equals", field, text: text.toLowerCase() } as const);
    sets.set(keyOf(type, field, text), await resolveQuery(condition, names));
  };
  for (const { field, first, longer } of unquoted
    .filter(({ field }) => STORED.has(field))
    .slice(0, MAX_STORED_VALUES)) {
    await addSet("equals", field, first);
    for (const { text } of longer) await addSet("words", field, text);
  }
  const keys = [...sets.keys()];
  const counts = keys.length === 0 ? [] : await countEach([...sets.values()]);
  return new Set(keys.filter((_, index) => (counts[index] ?? 0) > 0));
}
