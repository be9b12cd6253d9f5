import fc from "fast-check";
import { expect, test } from "vitest";
import { buildAutomaton, type Pattern } from "./automaton.ts";

const PLACES = ["anywhere", "start", "end"] as const;

function found(patterns: readonly Pattern[], texts: readonly string[]): number[] {
  const automaton = buildAutomaton(patterns);
  const ids = new Set<number>();
  for (const text of texts) automaton.scan(text, 1, (id) => ids.add(id));
  return [...ids].sort((one, other) => one - other);
}

const isIn = ({ text: wanted, place }: Pattern, text: string) =>
  place === "anywhere" ? text.includes(wanted) : place === "start" ? text.startsWith(wanted) : text.endsWith(wanted);

test("it finds the patterns that a text holds, each in its place, and no other", () => {
  const text = (maxLength: number) => fc.string({ unit: fc.constantFrom("a", "b", "c", "é", "😀", "中"), maxLength });
  const pattern = fc.tuple(
    text(5).filter((one) => one !== ""),
    fc.constantFrom(...PLACES),
  );
  const patterns = fc
    .uniqueArray(pattern, { selector: (one) => one.join(), maxLength: 30 })
    .map((all) => all.map(([one, place], id) => ({ text: one, place, id })));
  fc.assert(
    fc.property(patterns, fc.array(text(30), { maxLength: 3 }), (all, texts) => {
      const expected = all.filter((one) => texts.some((some) => isIn(one, some))).map(({ id }) => id);
      expect(found(all, texts)).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
});

test("the next event finds what the one before found", () => {
  const automaton = buildAutomaton([{ text: "ab", place: "anywhere", id: 7 }]);
  const ids: number[] = [];
  automaton.scan("xab", 1, (id) => ids.push(id));
  automaton.scan("ab", 2, (id) => ids.push(id));
  expect(ids).toEqual([7, 7]);
});

test("patterns that are parts of each other are reported once, not at each character", () => {
  const patterns = Array.from({ length: 200 }, (_, id) => ({
    text: "a".repeat(id + 1),
    place: "anywhere" as const,
    id,
  }));
  const automaton = buildAutomaton(patterns);
  let reports = 0;
  automaton.scan("a".repeat(100_000), 1, () => reports++);
  expect(reports).toBe(200);
});

test("texts with a common beginning share their states", () => {
  const patterns = Array.from({ length: 100 }, (_, id) => ({
    text: `/wp-content/plugins/${id}`,
    place: "start" as const,
    id,
  }));
  expect(buildAutomaton(patterns).states).toBe(1 + "/wp-content/plugins/".length + 10 + 90);
});
