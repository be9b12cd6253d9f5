import fc from "fast-check";
import { expect, test } from "vitest";
import {
  naivelyHolds,
  naivelyMatches,
  type RawCondition,
  type RawFields,
} from "../../../../test/support/ingest/naive-match.ts";
import { holds } from "../holds.ts";
import { toEvent } from "../matching/event.ts";
import type { Taggable } from "../matching/fields.ts";
import type { TaggingRule } from "../rule.ts";
import { parseMatch } from "../rule-files/parse-match.ts";
import { createTagger } from "./tagger.ts";

/** Few and short, so that random rules and random texts often meet. Cases, encodings and odd letters among them. */
const PIECES = [
  "a",
  "A",
  "b",
  "ab",
  "s",
  "ſ",
  "k",
  "K",
  "/",
  ".",
  "%41",
  "%2541",
  "%2e",
  "%",
  "É",
  "😀",
  "*",
  "?",
  "\\",
];
const text = fc.array(fc.constantFrom(...PIECES), { minLength: 0, maxLength: 8 }).map((pieces) => pieces.join(""));
const value = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(""));
const regex = fc.constantFrom(
  "a",
  "AB",
  "a+b",
  "(a|b)k",
  "a.b",
  "^a",
  "s$",
  "[ab]s",
  "a{2}",
  "(?:ab)?k",
  "\\.a",
  "a*s",
  "é",
);
const port = fc.constantFrom(0, 1, 22, 80, 443);
const network = fc.constantFrom("1.2.3.4", "1.2.3.0/24", "1.0.0.0/8", "0.0.0.0/0", "9.9.9.9/32");

const observations: fc.Arbitrary<Taggable> = fc.record(
  {
    source_ip: fc.constantFrom("1.2.3.4", "1.2.9.9", "9.9.9.9"),
    destination_port: port,
    login_attempts: port,
    labels: fc.array(value, { maxLength: 3 }),
    commands: fc.array(text, { maxLength: 3 }),
    credentials: fc.array(fc.record({ username: text }, { requiredKeys: [] }), { maxLength: 2 }),
    http: fc.record(
      {
        method: fc.constantFrom("GET", "get", "POST"),
        path: text,
        query: text,
        user_agent: text,
        headers: fc.array(value),
        header_lines: fc.array(value),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const DECODED = ["path", "query", "uri", "user_agent", "command"];
const PLAIN = ["method", "header", "username", "label"];
const comparison = fc.constantFrom("", "|contains", "|startswith", "|endswith");
const options = (all: readonly string[]) => fc.subarray([...all]).map((some) => some.map((one) => `|${one}`).join(""));
const oneOrMore = <T>(values: fc.Arbitrary<T>) => fc.oneof(values, fc.array(values, { minLength: 1, maxLength: 3 }));

const entry: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
  fc.tuple(keys(DECODED, comparison, ["cased", "raw"]), oneOrMore(value)),
  fc.tuple(keys(PLAIN, comparison, ["cased"]), oneOrMore(value)),
  fc.tuple(
    keys(DECODED, fc.constantFrom("|contains", "|endswith"), ["raw"], "|all"),
    fc.array(value, { minLength: 2, maxLength: 3 }),
  ),
  fc.tuple(keys(["label", "command"], fc.constant(""), [], "|all"), fc.array(value, { minLength: 2, maxLength: 3 })),
  fc.tuple(keys(DECODED, fc.constant("|re"), ["cased", "raw"]), oneOrMore(regex)),
  fc.tuple(fc.constantFrom("destination_port", "login_attempts"), oneOrMore(port)),
  fc.tuple(keys(["destination_port", "login_attempts"], fc.constantFrom("|lt", "|lte", "|gt", "|gte"), []), port),
  fc.tuple(fc.constant("source_ip|cidr"), oneOrMore(network)),
  fc.tuple(keys([...DECODED, ...PLAIN, "login_attempts"], fc.constant("|exists"), []), fc.boolean()),
);

function keys(fields: readonly string[], compare: fc.Arbitrary<string>, some: readonly string[], end = "") {
  return fc.tuple(fc.constantFrom(...fields), compare, options(some)).map((parts) => `${parts.join("")}${end}`);
}

const fields: fc.Arbitrary<RawFields> = fc
  .array(entry, { minLength: 1, maxLength: 3 })
  .map((entries) => Object.fromEntries(entries));

const SELECTIONS = ["sel1", "sel2", "filter"];
const selections: fc.Arbitrary<Readonly<Record<string, RawFields>>> = fc
  .tuple(fields, fields, fields)
  .map((all) => Object.fromEntries(SELECTIONS.map((name, index) => [name, all[index] ?? {}])));

/** A condition as its text and as a tree; each uses all selections. */
const conditions: fc.Arbitrary<{ readonly text: string; readonly tree: RawCondition }> = fc
  .letrec<{ tree: Written; leaf: Written }>((tie) => ({
    leaf: fc.oneof(
      fc.constantFrom(...SELECTIONS).map((use) => ({ text: use, tree: { use } })),
      fc.constantFrom(
        { text: "1 of sel*", tree: { any: [{ use: "sel1" }, { use: "sel2" }] } },
        { text: "all of them", tree: { all: SELECTIONS.map((use) => ({ use })) } },
      ),
    ),
    tree: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      tie("leaf"),
      tie("tree").map((inner) => ({ text: `not (${inner.text})`, tree: { not: inner.tree } })),
      fc.array(tie("tree"), { minLength: 2, maxLength: 3 }).map((parts) => ({
        text: `(${parts.map((part) => part.text).join(" and ")})`,
        tree: { all: parts.map((part) => part.tree) },
      })),
      // "and" binds closer than "or", and "not" closer than both.
      fc.tuple(tie("leaf"), tie("leaf"), tie("leaf")).map(([one, two, three]) => ({
        text: `(${one.text} or ${two.text} and not ${three.text})`,
        tree: { any: [one.tree, { all: [two.tree, { not: three.tree }] }] },
      })),
    ),
  }))
  .tree.map((written) => ({
    text: `${written.text} or all of them`,
    tree: { any: [written.tree, { all: SELECTIONS.map((use) => ({ use })) }] },
  }));

type Written = { readonly text: string; readonly tree: RawCondition };

function ruleOf(slug: string, match: unknown): TaggingRule {
  const errors: string[] = [];
  const expression = parseMatch(match, { error: (message) => errors.push(message), warning: () => {} });
  if (expression === undefined) throw new Error(errors.join("; "));
  return { slug, match: expression, examples: [], counterexamples: [] };
}

/** Rules that the linter would reject, like one whose values exclude each other, say nothing about the tagger. */
const isGood = (match: unknown) => parseMatch(match, { error: () => {}, warning: () => {} }) !== undefined;

test("the compiled rules give the same tags as looking at one rule's fields after the other", () => {
  fc.assert(
    fc.property(
      fc.array(fields.filter(isGood), { minLength: 1, maxLength: 12 }),
      fc.array(observations, { minLength: 1, maxLength: 6 }),
      (matches, events) => {
        const rules = matches.map((match, index) => ruleOf(`rule-${index}`, match));
        const { tagsFor } = createTagger(rules);
        for (const event of events) {
          const expected = rules.filter((_, index) => naivelyMatches(matches[index] ?? {}, event));
          expect(tagsFor(event)).toEqual(expected.map(({ slug }) => slug).toSorted());
          const plain = rules.filter(({ match }) => holds(match, toEvent(event)));
          expect(plain).toEqual(expected);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test("conditions over named selections mean what Sigma says", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          conditions,
          selections.filter((all) => Object.values(all).every(isGood)),
        ),
        { minLength: 1, maxLength: 5 },
      ),
      fc.array(observations, { minLength: 1, maxLength: 4 }),
      (written, events) => {
        const rules = written.map(([{ text }, named], index) => ruleOf(`rule-${index}`, { condition: text, ...named }));
        const { tagsFor } = createTagger(rules);
        for (const event of events) {
          const expected = rules.filter((_, index) => {
            const [condition, named] = written[index] ?? [];
            return condition !== undefined && named !== undefined && naivelyHolds(condition.tree, named, event);
          });
          expect(tagsFor(event)).toEqual(expected.map(({ slug }) => slug));
        }
      },
    ),
    { numRuns: 100 },
  );
});
