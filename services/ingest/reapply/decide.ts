import { hash } from "node:crypto";
import type { FoundColumns, StoredRow } from "@noisefloor/clickhouse/observations/rewrite-observations.ts";
import type { Callback } from "@noisefloor/domain/callbacks/callback.ts";
import type { CallbackSource } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { senderTags, toObservation } from "../rows/sessions/stored.ts";
import type { CompiledTagger } from "../tagging/compiled/tagger.ts";
import { toEvent } from "../tagging/matching/event.ts";
import type { Taggable } from "../tagging/matching/fields.ts";
import type { TaggingRule } from "../tagging/rule.ts";
import { holdsOfHead, traitsOf } from "./certainty.ts";

/** The rules in use, and what their tags are stored as. */
export type RulesInUse = {
  readonly tagger: CompiledTagger;
  readonly rules: readonly TaggingRule[];
  /** The id of a rule's tag; undefined when the catalogue has none, and then the rule gives no tag. */
  readonly idOf: (slug: string) => string | undefined;
  /** Only the tags with these ids are given and taken; left out, all. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Finds the callbacks of rows that were stored without any; left out, they stay so. */
  readonly findCallbacks?: ((source: CallbackSource) => Callback[]) | undefined;
};

export type Decision = {
  /** Undefined when the row stays as it is. */
  readonly found: FoundColumns | undefined;
  /** Ids. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Tags that were kept because part of what their rule read is not stored: the rest of a body, or a session's start. */
  readonly keptForBody: readonly string[];
  readonly keptForSession: readonly string[];
  /** Whether the row gets callbacks. */
  readonly addsCallbacks: boolean;
};

export type Decide = (row: StoredRow) => Decision | undefined;

/** @returns decides which tags and callbacks a stored row should have; undefined for a row that does not fit the wire schema. */
export function createDecide({ tagger, rules, idOf, only, findCallbacks = () => [] }: RulesInUse): Decide {
  const known = rules.flatMap((rule) => {
    const id = idOf(rule.slug);
    return id === undefined ? [] : [{ ...rule, id, ...traitsOf(rule.match) }];
  });
  const bodyRules = known.filter(({ usesBody }) => usesBody);
  const byId = new Map(known.map((rule) => [rule.id, rule]));
  const isAsked = (id: string) => only === undefined || only.has(id);
  return (row) => {
    const observation = toObservation(row);
    if (observation === undefined) return undefined;
    const { body, isWhole } = bodyOf(row);
    const given = new Set(
      tagger.tagsFor(isWhole ? withBody(observation, body) : observation).flatMap((slug) => idOf(slug) ?? []),
    );
    const before = new Set(row.rule_tags);
    const keptForBody: string[] = [];
    const keptForSession: string[] = [];
    if (!isWhole) {
      const event = toEvent(withBody(observation, body));
      for (const { id, match } of bodyRules) {
        const result = holdsOfHead(match, event);
        given.delete(id);
        if (result === true) given.add(id);
        else if (result === undefined && before.has(id)) keptForBody.push(id);
      }
    }
    if (row.session_id !== "") {
      for (const id of before) {
        const rule = byId.get(id);
        if (rule === undefined || given.has(id) || keptForBody.includes(id)) continue;
        // A session had more bodies than the one of which a part is stored.
        if (rule.mayEnd || (rule.usesBody && row.http.body_sha256 !== "")) keptForSession.push(id);
      }
    }
    for (const id of [...keptForBody, ...keptForSession]) given.add(id);
    const after = [...[...before].filter((id) => !isAsked(id)), ...[...given].filter(isAsked)];
    const kept = { keptForBody: keptForBody.filter(isAsked), keptForSession: keptForSession.filter(isAsked) };
    if (row.callbacks.length > 0) return decide(row, after, row.callbacks, kept);
    // A session's digest may be that of another file. What is cut could end with half a host.
    const { payload_sha256: _digests, ...said } = isWhole ? withBody(observation, body) : observation;
    return decide(row, after, findCallbacks(said), kept);
  };
}

function decide(
  row: StoredRow,
  ruleTags: readonly string[],
  callbacks: Callback[],
  kept: Pick<Decision, "keptForBody" | "keptForSession">,
): Decision {
  const sender = senderTags(row);
  const found = {
    tags: [...new Set([...sender, ...ruleTags])],
    rule_tags: [...new Set(ruleTags)],
    shared_tags: sender.filter((id) => ruleTags.includes(id)),
    callbacks,
  };
  const addsCallbacks = callbacks.length > row.callbacks.length;
  const isSame = hasSame(found.tags, row.tags) && hasSame(found.rule_tags, row.rule_tags);
  return {
    found: !addsCallbacks && isSame && hasSame(found.shared_tags, row.shared_tags) ? undefined : found,
    addsCallbacks,
    added: without(found.tags, row.tags),
    removed: without(row.tags, found.tags),
    ...kept,
  };
}

const without = (some: readonly string[], others: readonly string[]) => some.filter((id) => !others.includes(id));
const hasSame = (some: readonly string[], others: readonly string[]) =>
  without(some, others).length === 0 && without(others, some).length === 0;

/** Half an escape at its end could be read as something that did not come. */
const LONGEST_ESCAPE = 12;

function bodyOf({ http: { body_head: head, body_sha256: sha256 } }: StoredRow) {
  if (sha256 === "") return { body: undefined, isWhole: true };
  const isWhole = hash("sha256", head) === sha256;
  return { body: isWhole ? head : head.slice(0, -LONGEST_ESCAPE), isWhole };
}

function withBody(observation: Taggable, body: string | undefined): Taggable {
  return body === undefined || body === "" ? observation : { ...observation, http: { ...observation.http, body } };
}
