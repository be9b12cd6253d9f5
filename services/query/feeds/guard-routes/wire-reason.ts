import { z } from "zod";
import type { GuardReason } from "../guard/guard.ts";

export const REASONS = ["service", "actor", "own_address", "network"] as const;

/** Why an address is guarded, as responses have it. */
export const reasonMembers = {
  reason: z.enum(REASONS),
  name: z.string().describe("Of the service or actor; else empty."),
  network: z.string().describe("The guarded network; else empty."),
  note: z.string(),
  attacked: z
    .boolean()
    .describe("Whether sensors saw a login, a command, a download or a payload of it over TCP: its owner should know."),
};

export function toWireReason(reason: GuardReason, attacked: boolean) {
  const isNetwork = reason.type === "network";
  return {
    reason: reason.type,
    name: "name" in reason ? reason.name : "",
    network: isNetwork ? reason.network : "",
    note: isNetwork ? reason.note : "",
    attacked,
  };
}
