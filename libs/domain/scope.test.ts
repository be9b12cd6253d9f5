import fc from "fast-check";
import { expect, test } from "vitest";
import type { Caller } from "./caller.ts";
import { DATASETS, type Dataset, openScopes, parseScopes, type Scope, type ScopedOperation } from "./scope.ts";

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

const nobody: Caller = { plan: "unauthenticated", entitlements: new Set() };
const member: Caller = { plan: "standard", workspaceId: "ws-1", entitlements: new Set() };
const entitled: Caller = {
  plan: "standard",
  workspaceId: "ws-1",
  entitlements: new Set(["community_dataset"] as const),
};
const scope = (dataset: Dataset): Scope => ({ dataset, workspaceId: dataset === "personal" ? "ws-1" : "" });

/** SPEC, Dataset scopes, row by row: what a scope list opens, or the status with which it is refused. */
const enforcement: [ScopedOperation, string | undefined, Caller, Dataset[] | number][] = [
  ["ip", undefined, nobody, ["global"]],
  ["ip", "global", nobody, 403],
  ["ip", "nonsense", nobody, 403],
  ["ip", "personal", member, 403],
  ["ip", "nonsense", entitled, []],
  ["ip", "nonsense,community", entitled, ["community"]],
  ["ip", "personal,global", entitled, ["personal", "global"]],
  ["timeline", undefined, nobody, ["global"]],
  ["timeline", "community,global", nobody, ["community", "global"]],
  ["timeline", "nonsense", entitled, 400],
  ["timeline", "global,nonsense", nobody, 400],
  ["timeline", "personal", nobody, 400],
  ["timeline", "personal", member, ["personal"]],
  ["tag-activity", undefined, nobody, ["global"]],
  ["tag-activity", "", nobody, ["global"]],
  ["tag-activity", "global", nobody, 403],
  ["tag-activity", "greynoise", nobody, 403],
  ["tag-activity", "community", member, 403],
  ["tag-activity", "nonsense", nobody, 400],
  ["tag-activity", "community,nonsense", member, 400],
  ["tag-activity", "personal", nobody, 403],
  ["tag-activity", "global,community,personal", entitled, ["global", "community", "personal"]],
];

test.each(enforcement)("%s asked for %j", (operation, text, caller, expected) => {
  const opened = openScopes(operation, parseScopes(text), caller);
  if (typeof expected === "number") expect(opened).toMatchObject({ status: expected, message: expect.any(String) });
  else expect(opened).toEqual(expected.map(scope));
});

test("personal is never another workspace than the caller's own", () => {
  const operations = fc.constantFrom<ScopedOperation>("ip", "timeline", "tag-activity");
  const lists = fc.array(fc.constantFrom("global", "community", "personal", "ws-2", "personal:ws-2"), { maxLength: 5 });
  fc.assert(
    fc.property(operations, lists, fc.constantFrom(nobody, member, entitled), (operation, values, caller) => {
      const opened = openScopes(operation, parseScopes(values.join(",")), caller);
      for (const { dataset, workspaceId } of Array.isArray(opened) ? opened : []) {
        expect(workspaceId).toBe(dataset === "personal" ? caller.workspaceId : "");
        if (dataset === "personal") expect(workspaceId).toBe("ws-1");
      }
    }),
  );
});
