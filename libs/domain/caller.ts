/** Rights that a workspace can have besides its plan. */
export const ENTITLEMENTS = ["community_dataset"] as const;
export type Entitlement = (typeof ENTITLEMENTS)[number];

/** Who asks, as far as it decides what they may see. */
export type Caller = {
  /** The name of the plan. */
  readonly plan: string;
  /** Absent for callers without a key. */
  readonly workspaceId?: string;
  readonly entitlements: ReadonlySet<Entitlement>;
};
