import type { Condition, Query } from "@noisefloor/domain/query-language/query.ts";
import { countryName } from "../address/response.ts";
import type { Names } from "../conditions/names.ts";
import { openResolver } from "../conditions/resolve-query.ts";
import type { MeantQuery } from "./meant-query.ts";

export async function warningsOf({ meant, names }: { readonly meant: MeantQuery; readonly names: Names }) {
  return [...new Set([...meant.warnings, ...(await warnOfNothing(meant.query, names))])];
}

/** What to tell of conditions that can match nothing by what is known without the store: the first few. */
async function warnOfNothing(query: Query, names: Names): Promise<readonly string[]> {
  const resolve = openResolver(names);
  const warnings = new Set<string>();
  for (const condition of conditionsOf(query)) {
    const resolved = await resolve(condition);
    const isNothing = resolved.type === "constant" && !resolved.value;
    // Reading the query has warned of those already.
    if (condition.type === "constant") continue;
    const warning = isNothing ? describeNothing(condition) : describeCode(condition);
    if (warning !== undefined) warnings.add(warning);
    if (warnings.size === MAX_WARNINGS) break;
  }
  return [...warnings];
}

const MAX_WARNINGS = 20;

function* conditionsOf(query: Query): Generator<Condition> {
  switch (query.type) {
    case "and":
    case "or":
      for (const one of query.of) yield* conditionsOf(one);
      break;
    case "not":
      yield* conditionsOf(query.of);
      break;
    default:
      yield query;
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  tag: "no tag has the name, slug or id",
  cve: "no tag names the CVE",
  actor: "no known actor is called",
  country: "no country is called",
  country_code: "no country has the code",
  classification: "no classification is",
  protocol: "no observation has the protocol",
};

function describeNothing(condition: Exclude<Condition, { type: "constant" }>): string {
  if (condition.type === "port-protocol") return `${MEANINGS.protocol} ${show(condition.protocol)}`;
  const { field } = { field: "any", ...condition };
  const meaning = MEANINGS[field];
  const value = textOf(condition);
  return meaning === undefined || value === undefined
    ? `no address can match the condition on ${field}`
    : `${meaning} ${show(value)}`;
}

function textOf(condition: Condition): string | undefined {
  switch (condition.type) {
    case "equals":
      return condition.text;
    case "words":
      return condition.words.join(" ");
    case "matches":
      return condition.pattern.map((part) => (typeof part === "string" ? part : part.wildcard)).join("");
    default:
      return undefined;
  }
}

/** A warning about a country code that ISO 3166 does not have. */
function describeCode(condition: Condition): string | undefined {
  const code = condition.type === "equals" || condition.type === "words" ? (textOf(condition) ?? "").toUpperCase() : "";
  const isOfCountry = "field" in condition && (condition.field === "country" || condition.field === "country_code");
  if (!isOfCountry || !/^[A-Z]{2}$/.test(code)) return undefined;
  const inUse = new Intl.Locale(`und-${code}`).region ?? code;
  if (inUse !== code) return `the code of ${countryName(code)} is ${inUse}, not ${code}`;
  return countryName(code) === "" ? `${MEANINGS.country_code} ${show(code.toLowerCase())}` : undefined;
}

const show = (text: string) => JSON.stringify(text.slice(0, 128));
