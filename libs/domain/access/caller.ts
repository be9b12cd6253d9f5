/**
 * What a workspace may do besides what its plan allows: choose the datasets that it asks, and see the sensors that feed
 * the shared ones.
 */
export const ENTITLEMENTS = ["community_dataset", "sensors"] as const;
export type Entitlement = (typeof ENTITLEMENTS)[number];

/** The sender of a request: what decides which data it may read and how much of it. */
export type Caller = {
  /** The name of the plan. */
  readonly plan: string;
  /** Absent for callers without a key. */
  readonly workspaceId?: string | undefined;
  readonly entitlements: ReadonlySet<Entitlement>;
};
