import { comparable, type TextMatch, textMatcher } from "@noisefloor/domain/query-language/text-match.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { INTENTIONS, type Intention } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { BenignNetworks } from "../address/benign-networks.ts";
import { and, facet, facetIn, NONE, not, or, type SetQuery, set } from "./address-set.ts";
import { comparableActors } from "./comparable-names.ts";

/** What conditions mean by names: the tags, and the lists of benign networks. */
export type Names = {
  readonly tags: readonly Tag[];
  readonly networks: Pick<BenignNetworks, "lists" | "hasActors">;
};

export function tagged(tags: readonly Pick<Tag, "id">[]): SetQuery {
  return tags.length === 0 ? NONE : facetIn("tag", tags.map(({ id }) => id).sort());
}

const idsByIntention = new WeakMap<Names["tags"], ReadonlyMap<Intention, readonly string[]>>();

/** The ids of the tags of an intention, the same list until the catalogue changes. */
export function idsOf(wanted: Intention, { tags }: Names): readonly string[] {
  const known = idsByIntention.get(tags) ?? new Map(INTENTIONS.map((one) => [one, idsWith(one, tags)]));
  idsByIntention.set(tags, known);
  return known.get(wanted) ?? [];
}

const idsWith = (wanted: Intention, tags: Names["tags"]) =>
  tags.flatMap(({ id, intention }) => (intention === wanted ? [id] : [])).sort();

export function classifications(match: TextMatch, names: Names): SetQuery {
  const isMeant = textMatcher(match);
  return or(INTENTIONS.filter((name) => isMeant(comparable(name))).map((name) => classified(name, names)));
}

const classes = new WeakMap<Names, Map<Intention, SetQuery>>();

/** The addresses of a classification: the same sets however many conditions of a query ask for them. */
export function classified(wanted: Intention, names: Names): SetQuery {
  const known = classes.get(names) ?? new Map<Intention, SetQuery>();
  classes.set(names, known);
  const sets = known.get(wanted) ?? classificationSets(wanted, names);
  known.set(wanted, sets);
  return sets;
}

/** `severityOf` as sets. */
function classificationSets(wanted: Intention, names: Names): SetQuery {
  const actor = actors("any", names);
  const severity = INTENTIONS.indexOf(wanted);
  const withTag = (intention: Intention) => tagged(idsOf(intention, names).map((id) => ({ id })));
  const own = withTag(wanted);
  const notWorse = INTENTIONS.slice(severity + 1).map((intention) => not(withTag(intention)));
  switch (wanted) {
    case "benign":
      return and([or([actor, and([own, ...notWorse])]), not(ATTACKED)]);
    case "unknown": {
      // Without any tag that is in the catalogue, it is unknown.
      const isUntagged = not(tagged(names.tags));
      return and([or([own, isUntagged, and([withTag("benign"), ATTACKED])]), ...notWorse, not(actor)]);
    }
    case "suspicious":
      return and([or([and([own, not(actor)]), and([actor, ATTACKED])]), ...notWorse]);
    case "malicious":
      return and([own, or([not(actor), ATTACKED])]);
  }
}

/** The addresses that attacked. */
export const ATTACKED = facetIn("tag", [ATTACK_TAG_ID]);

/** The addresses of which an observation proves contact, and all others that were seen: those could be forged. */
export const IN_CONTACT = facet("contact", { type: "exists" });
export const SPOOFABLE = not(IN_CONTACT);

/** The addresses of known benign actors whose names match. */
export function actors(match: TextMatch | "any", { networks: { lists, hasActors } }: Names): SetQuery {
  if (!hasActors) return NONE;
  if (match === "any") return set({ type: "listed", kind: "actor", lists: "any" });
  const isMeant = textMatcher(match);
  const found = comparableActors(lists.actor).flatMap(({ id, name }) => (isMeant(name) ? [id] : []));
  return found.length === 0 ? NONE : set({ type: "listed", kind: "actor", lists: found.sort() });
}
