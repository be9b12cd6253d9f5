import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatRight, type PublishRight, parseRight, type StatedScope, scopeToPublish } from "./publishing.ts";
import { DATASETS } from "./scope.ts";

const GLOBAL = { dataset: "global", workspaceId: "" } as const;
const COMMUNITY = { dataset: "community", workspaceId: "" } as const;
const OF_A = { dataset: "personal", workspaceId: "a" } as const;

/** The scope as "dataset/workspace", or the reason of the rejection. */
function outcome(stated: StatedScope, right: PublishRight): string {
  const scope = scopeToPublish(stated, right);
  return "reason" in scope ? scope.reason : `${scope.dataset}/${scope.workspaceId}`;
}

/** What an observation states, and its scope under each right. */
const TABLE: [StatedScope, everything: string, shared: string, global: string, community: string, ofA: string][] = [
  [{}, "global/", "global/", "global/", "community/", "personal/a"],
  [{ dataset: "global" }, "global/", "global/", "global/", "not-permitted", "not-permitted"],
  [{ dataset: "community" }, "community/", "community/", "not-permitted", "community/", "not-permitted"],
  [{ dataset: "personal" }, "invalid-observation", "not-permitted", "not-permitted", "not-permitted", "personal/a"],
  [{ workspace_id: "a" }, "invalid-observation", "invalid-observation", "not-permitted", "not-permitted", "personal/a"],
  [
    { dataset: "personal", workspace_id: "a" },
    "personal/a",
    "not-permitted",
    "not-permitted",
    "not-permitted",
    "personal/a",
  ],
  [
    { dataset: "personal", workspace_id: "b" },
    "personal/b",
    "not-permitted",
    "not-permitted",
    "not-permitted",
    "not-permitted",
  ],
  [
    { workspace_id: "b" },
    "invalid-observation",
    "invalid-observation",
    "not-permitted",
    "not-permitted",
    "not-permitted",
  ],
  [
    { dataset: "global", workspace_id: "a" },
    "invalid-observation",
    "invalid-observation",
    "not-permitted",
    "not-permitted",
    "not-permitted",
  ],
];

test.each(TABLE)(
  "%j is stored only where its sender's right allows it",
  (stated, everything, shared, global, community, ofA) => {
    expect(outcome(stated, "everything")).toBe(everything);
    expect(outcome(stated, "shared-datasets")).toBe(shared);
    expect(outcome(stated, GLOBAL)).toBe(global);
    expect(outcome(stated, COMMUNITY)).toBe(community);
    expect(outcome(stated, OF_A)).toBe(ofA);
  },
);

describe("whatever an observation states", () => {
  const workspace = fc.constantFrom("a", "b", "A", "a ", "personal");
  const stated = fc.record({ dataset: fc.constantFrom(...DATASETS), workspace_id: workspace }, { requiredKeys: [] });
  const scope = fc.oneof(
    fc.constant(GLOBAL),
    fc.constant(COMMUNITY),
    workspace.map((workspaceId) => ({ dataset: "personal" as const, workspaceId })),
  );

  test("a key for one scope writes to that scope only", () => {
    fc.assert(
      fc.property(stated, scope, (members, right) => {
        const result = scopeToPublish(members, right);
        if (!("reason" in result)) expect(result).toEqual(right);
      }),
    );
  });

  test("the stated members stay as they are, and only personal data has a workspace", () => {
    fc.assert(
      fc.property(stated, fc.oneof(scope, fc.constantFrom("everything", "shared-datasets")), (members, right) => {
        const result = scopeToPublish(members, right);
        if ("reason" in result) return;
        expect(result).toMatchObject({
          ...(members.dataset === undefined ? {} : { dataset: members.dataset }),
          ...(members.workspace_id === undefined ? {} : { workspaceId: members.workspace_id }),
        });
        expect(result.dataset === "personal").toBe(result.workspaceId !== "");
        if (right === "shared-datasets") expect(result.dataset).not.toBe("personal");
      }),
    );
  });

  test("a personal key without a workspace, which should not exist, writes nowhere", () => {
    fc.assert(
      fc.property(stated, (members) => {
        expect(scopeToPublish(members, { dataset: "personal", workspaceId: "" })).toHaveProperty("reason");
      }),
    );
  });
});

test("a rejection names what the sender may publish to and what the observation states", () => {
  expect(scopeToPublish({ dataset: "global" }, OF_A)).toEqual({
    reason: "not-permitted",
    detail:
      'the sender may publish to the personal dataset of the workspace "a" only, but the observation states dataset "global"',
  });
  expect(scopeToPublish({ dataset: "personal", workspace_id: "b" }, COMMUNITY)).toMatchObject({
    detail:
      'the sender may publish to the community dataset only, but the observation states dataset "personal" and workspace_id "b"',
  });
  expect(scopeToPublish({ dataset: "personal" }, "shared-datasets")).toMatchObject({
    detail:
      'the sender may publish to the datasets global and community only (personal data takes a sensor key of its workspace), but the observation states dataset "personal"',
  });
});

test("a formatted right is parsed as the same right; other texts are not rights", () => {
  const rights = ["everything", "shared-datasets", GLOBAL, COMMUNITY, OF_A] as const;
  for (const right of rights) expect(parseRight(formatRight(right))).toEqual(right);
  for (const text of ["", "nothing", "global", "mine/team-a", "personal/a/b"]) expect(parseRight(text)).toBeUndefined();
});
