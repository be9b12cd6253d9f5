import fc from "fast-check";
import { expect, test } from "vitest";
import { DATASETS, parseScopes, sharedRooms } from "./scope.ts";

test.each([undefined, "", " ", " \t "])(
  "left out or empty (%j) means the global dataset, not asked for by name",
  (text) => {
    expect(parseScopes(text)).toEqual({ supplied: false, recognized: ["global"], unrecognized: [] });
  },
);

test("global asked for by name is supplied, so that an operation may want an entitlement for it", () => {
  expect(parseScopes("global")).toEqual({ supplied: true, recognized: ["global"], unrecognized: [] });
});

test.each(DATASETS)("%s is a scope", (dataset) => {
  expect(parseScopes(dataset)).toEqual({ supplied: true, recognized: [dataset], unrecognized: [] });
});

test("white space around values and repeated values change nothing", () => {
  const plain = parseScopes("community,global,personal");
  expect(parseScopes(" community ,\tglobal,personal , community,global ")).toEqual(plain);
  expect(plain.recognized).toEqual(["community", "global", "personal"]);
});

test("greynoise, which existing clients send, is another name of global", () => {
  expect(parseScopes("greynoise")).toEqual(parseScopes("global"));
  expect(parseScopes("greynoise,global,greynoise")).toEqual(parseScopes("global"));
});

test("aliases are configuration: without greynoise among them it is not recognized, and others can take its place", () => {
  expect(parseScopes("greynoise", {}).unrecognized).toEqual(["greynoise"]);
  expect(parseScopes("ours,shared", { ours: "personal", shared: "community" }).recognized).toEqual([
    "personal",
    "community",
  ]);
});

test.each(["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "nobody", "globals", "glo bal"])(
  "%s is not recognized",
  (name) => {
    expect(parseScopes(name)).toEqual({ supplied: true, recognized: [], unrecognized: [name] });
  },
);

test("one unrecognized value does not hide the recognized ones, nor the other way round, and is named once", () => {
  expect(parseScopes("nobody,community, nobody,else")).toEqual({
    supplied: true,
    recognized: ["community"],
    unrecognized: ["nobody", "else"],
  });
});

test("every value of a list is accounted for exactly once", () => {
  const value = fc.oneof(fc.constantFrom(...DATASETS, "greynoise"), fc.stringMatching(/^[a-z_]{1,9}$/));
  const isKnown = (name: string) => DATASETS.some((dataset) => dataset === name);
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), fc.boolean(), (values, spaced) => {
      const { supplied, recognized, unrecognized } = parseScopes(values.join(spaced ? " , " : ","));
      const wanted = new Set(values.map((name) => (name === "greynoise" ? "global" : name)));
      expect(supplied).toBe(true);
      expect([...recognized, ...unrecognized].sort()).toEqual([...wanted].sort());
      expect(recognized.every(isKnown)).toBe(true);
      expect(unrecognized.some(isKnown)).toBe(false);
    }),
  );
});

test("personal opens no room to a caller without a workspace", () => {
  expect(sharedRooms(["personal"])).toEqual([]);
  expect(sharedRooms(["global", "personal", "community"])).toEqual([
    { dataset: "global", workspaceId: "" },
    { dataset: "community", workspaceId: "" },
  ]);
});
