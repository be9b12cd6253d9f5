import { z } from "zod";
import type { GuardReason } from "./guard.ts";

export const REASONS = ["service", "actor", "own_address", "network"] as const;

/** Why an address is guarded, as responses have it. */
export const reasonMembers = {
  reason: z.enum(REASONS),
  name: z.string().describe("Of the service or actor; else empty."),
  network: z.string().describe("The guarded network; else empty."),
  note: z.string(),
};

export function toWireReason(reason: GuardReason) {
  const isNetwork = reason.type === "network";
  return {
    reason: reason.type,
    name: "name" in reason ? reason.name : "",
    network: isNetwork ? reason.network : "",
    note: isNetwork ? reason.note : "",
  };
}
