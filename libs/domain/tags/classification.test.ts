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
  expect(classify(intentions, { isActor: false, hasAttacked: false })).toBe(expected);
});

test("a known benign actor is benign even when its tags are malicious", () => {
  expect(classify(["malicious"], { isActor: true, hasAttacked: false })).toBe("benign");
  expect(classify([], { isActor: true, hasAttacked: false })).toBe("benign");
});

test.each<[string, Intention[], boolean, Intention]>([
  ["a known benign actor without tags is suspicious", [], true, "suspicious"],
  ["a known benign actor with malicious tags is malicious", ["malicious", "benign"], true, "malicious"],
  ["an address with harmless tags alone is unknown", ["benign"], false, "unknown"],
  ["an address without tags is unknown", [], false, "unknown"],
  ["an address with suspicious tags is suspicious", ["suspicious", "unknown"], false, "suspicious"],
])("who attacked is never benign: %s", (_, intentions, isActor, expected) => {
  expect(classify(intentions, { isActor, hasAttacked: true })).toBe(expected);
});

test("order and repetition of tags do not change the classification", () => {
  const worstFirst: readonly Intention[] = ["malicious", "suspicious", "unknown", "benign"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...INTENTIONS), { maxLength: 12 }), fc.boolean(), (intentions, isActor) => {
      const expected = isActor ? "benign" : (worstFirst.find((name) => intentions.includes(name)) ?? "unknown");
      const standing = { isActor, hasAttacked: false };
      expect(classify(intentions, standing)).toBe(expected);
      expect(classify(new Set(intentions.toReversed()), standing)).toBe(expected);
    }),
  );
});
