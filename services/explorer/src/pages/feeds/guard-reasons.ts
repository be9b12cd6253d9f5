import type { HeldBack } from "../../api/operations.ts";

type GuardReason = HeldBack["addresses"][number]["reason"];

/** Why an address is guarded, in words that follow it. */
export const GUARD_REASONS = {
  service: "it belongs to a known benign service",
  actor: "it belongs to a known benign actor",
  own_address: "it is one of the service's own addresses",
  network: "it is in a network of yours",
} as const satisfies Record<GuardReason, string>;

type GuardFacts = { readonly name: string; readonly network: string; readonly note: string };

/** Said of a guarded address that attacked. */
export const ATTACKED = "it attacked: tell its owner";

/** What is known of the reason: whose the address is, and which network guards it; empty where nothing is. */
export const guardDetails = ({ name, network, note }: GuardFacts): string =>
  [name, network, note].filter((text) => text !== "").join(", ");
