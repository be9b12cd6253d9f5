import fc from "fast-check";
import { expect, test } from "vitest";
import type { Caller } from "./caller.ts";
import { authorizeScopes, DATASETS, type Dataset, parseScopes, type Scope, type ScopedOperation } from "./scope.ts";

test.each([undefined, "", " ", " \t "])(
  "no list or an empty one (%j) means the global dataset, not supplied by name",
  (text) => {
    expect(parseScopes(text)).toEqual({ supplied: false, recognized: ["global"], unrecognized: [] });
  },
);

test("global by name is supplied, so that an operation may require an entitlement for it", () => {
  expect(parseScopes("global")).toEqual({ supplied: true, recognized: ["global"], unrecognized: [] });
});

test.each(DATASETS)("%s is recognized", (dataset) => {
  expect(parseScopes(dataset)).toEqual({ supplied: true, recognized: [dataset], unrecognized: [] });
});

test("white space around values and repeated values change nothing", () => {
  const plain = parseScopes("community,global,personal");
  expect(parseScopes(" community ,\tglobal,personal , community,global ")).toEqual(plain);
  expect(plain.recognized).toEqual(["community", "global", "personal"]);
});

test("greynoise, which existing clients send, is an alias of global", () => {
  expect(parseScopes("greynoise")).toEqual(parseScopes("global"));
  expect(parseScopes("greynoise,global,greynoise")).toEqual(parseScopes("global"));
});

test("aliases can be configured: greynoise is recognized only if it is one of them", () => {
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

test("recognized and unrecognized values are both returned, each once", () => {
  expect(parseScopes("nobody,community, nobody,else")).toEqual({
    supplied: true,
    recognized: ["community"],
    unrecognized: ["nobody", "else"],
  });
});

test("every value of a list is returned exactly once", () => {
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

const anonymous: Caller = { plan: "unauthenticated", entitlements: new Set() };
const member: Caller = { plan: "standard", workspaceId: "ws-1", entitlements: new Set() };
const entitled: Caller = {
  plan: "standard",
  workspaceId: "ws-1",
  entitlements: new Set(["community_dataset"] as const),
};
const scope = (dataset: Dataset): Scope => ({ dataset, workspaceId: dataset === "personal" ? "ws-1" : "" });

/** SPEC, Dataset scopes, row by row: the scopes that a list gives access to, or the status of the error response. */
const enforcement: [ScopedOperation, string | undefined, Caller, Dataset[] | number][] = [
  ["ip", undefined, anonymous, ["global"]],
  ["ip", "global", anonymous, 403],
  ["ip", "nonsense", anonymous, 403],
  ["ip", "personal", member, 403],
  ["ip", "nonsense", entitled, []],
  ["ip", "nonsense,community", entitled, ["community"]],
  ["ip", "personal,global", entitled, ["personal", "global"]],
  ["timeline", undefined, anonymous, ["global"]],
  ["timeline", "community,global", anonymous, ["community", "global"]],
  ["timeline", "nonsense", entitled, 400],
  ["timeline", "global,nonsense", anonymous, 400],
  ["timeline", "personal", anonymous, 400],
  ["timeline", "personal", member, ["personal"]],
  ["tag-activity", undefined, anonymous, ["global"]],
  ["tag-activity", "", anonymous, ["global"]],
  ["tag-activity", "global", anonymous, 403],
  ["tag-activity", "greynoise", anonymous, 403],
  ["tag-activity", "community", member, 403],
  ["tag-activity", "nonsense", anonymous, 400],
  ["tag-activity", "community,nonsense", member, 400],
  ["tag-activity", "personal", anonymous, 403],
  ["tag-activity", "global,community,personal", entitled, ["global", "community", "personal"]],
];

test.each(enforcement)("%s with %j", (operation, text, caller, expected) => {
  const scopes = authorizeScopes(operation, parseScopes(text), caller);
  if (typeof expected === "number") expect(scopes).toMatchObject({ status: expected, message: expect.any(String) });
  else expect(scopes).toEqual(expected.map(scope));
});

test("personal is never another workspace than the caller's own", () => {
  const operations = fc.constantFrom<ScopedOperation>("ip", "timeline", "tag-activity");
  const lists = fc.array(fc.constantFrom("global", "community", "personal", "ws-2", "personal:ws-2"), { maxLength: 5 });
  fc.assert(
    fc.property(operations, lists, fc.constantFrom(anonymous, member, entitled), (operation, values, caller) => {
      const scopes = authorizeScopes(operation, parseScopes(values.join(",")), caller);
      for (const { dataset, workspaceId } of Array.isArray(scopes) ? scopes : []) {
        expect(workspaceId).toBe(dataset === "personal" ? caller.workspaceId : "");
        if (dataset === "personal") expect(workspaceId).toBe("ws-1");
      }
    }),
  );
});
