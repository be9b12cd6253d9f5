import fc from "fast-check";
import { expect, test } from "vitest";
import { classify, INTENTIONS, type Intention } from "./classification.ts";

test("the intentions are ordered from harmless to worst, as in ClickHouse's Enum8", () => {
  expect(INTENTIONS).toEqual(["benign", "unknown", "suspicious", "malicious"]);
});

test.each<[string, Intention[], Intention]>([
  ["no tag at all", [], "unknown"],
  ["only harmless tags", ["benign", "benign"], "benign"],
  ["a harmless and an unknown tag", ["benign", "unknown"], "unknown"],
  ["a suspicious tag among unknown ones", ["unknown", "suspicious", "unknown"], "suspicious"],
  ["one malicious tag among others", ["malicious", "suspicious", "benign"], "malicious"],
])("an address with %s is classified by its worst tag", (_, intentions, expected) => {
  expect(classify(intentions, false)).toBe(expected);
});

test("a known benign actor is benign even when its tags are malicious", () => {
  expect(classify(["malicious"], true)).toBe("benign");
  expect(classify([], true)).toBe("benign");
});

test("order and repetition of tags do not change the classification", () => {
  const worstFirst: readonly Intention[] = ["malicious", "suspicious", "unknown", "benign"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...INTENTIONS), { maxLength: 12 }), fc.boolean(), (intentions, isActor) => {
      const expected = isActor ? "benign" : (worstFirst.find((name) => intentions.includes(name)) ?? "unknown");
      expect(classify(intentions, isActor)).toBe(expected);
      expect(classify(new Set(intentions.toReversed()), isActor)).toBe(expected);
    }),
  );
});
