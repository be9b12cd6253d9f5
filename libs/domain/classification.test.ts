import fc from "fast-check";
import { expect, test } from "vitest";
import { classify, INTENTIONS, type Intention } from "./classification.ts";

test("the intentions stand from harmless to worst, as the storage's Enum8 has them", () => {
  expect(INTENTIONS).toEqual(["benign", "unknown", "suspicious", "malicious"]);
});

test.each<[string, Intention[], Intention]>([
  ["no tag at all", [], "unknown"],
  ["only harmless tags", ["benign", "benign"], "benign"],
  ["a harmless and an unknown tag", ["benign", "unknown"], "unknown"],
  ["a suspicious tag among unknown ones", ["unknown", "suspicious", "unknown"], "suspicious"],
  ["one malicious tag, wherever it stands", ["malicious", "suspicious", "benign"], "malicious"],
])("an address with %s is classified by its worst tag", (_, intentions, expected) => {
  expect(classify(intentions, false)).toBe(expected);
});

test("a known benign actor is benign even when its tags are malicious", () => {
  expect(classify(["malicious"], true)).toBe("benign");
  expect(classify([], true)).toBe("benign");
});

test("the classification of any tags, in any order and however often repeated, is the first that the rule names", () => {
  const worstFirst: readonly Intention[] = ["malicious", "suspicious", "unknown", "benign"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...INTENTIONS), { maxLength: 12 }), fc.boolean(), (intentions, isActor) => {
      const byRule = isActor ? "benign" : (worstFirst.find((name) => intentions.includes(name)) ?? "unknown");
      expect(classify(intentions, isActor)).toBe(byRule);
      expect(classify(new Set(intentions.toReversed()), isActor)).toBe(byRule);
    }),
  );
});
