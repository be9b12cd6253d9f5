import type { Scanner, Service } from "../../api/operations.ts";
import type { Verdict } from "../../shell/badge.tsx";
import { visible } from "../../text/hostile.tsx";

export type AddressVerdict = { readonly verdict: Verdict; readonly sentence: string };

const REASONS = {
  malicious: "was seen attacking: at least one of its tags is malicious",
  suspicious: "did what often precedes attacks: at least one of its tags is suspicious",
  unknown: "did nothing that says what for",
  benign: "did nothing harmful",
} as const;

/** What an address is, in one sentence. */
export function verdictOf(scanner: Scanner, service: Service): AddressVerdict {
  const name = visible(service.name);
  if (!scanner.found) {
    if (!service.found) {
      return {
        verdict: "not seen",
        sentence: "These sensors have not seen it scanning, and it belongs to no known benign service.",
      };
    }
    return { verdict: "benign", sentence: `It belongs to a known benign service, ${name}, and was not seen scanning.` };
  }
  const classification = scanner.classification === "" ? "unknown" : scanner.classification;
  const isActor = scanner.actor !== "" && scanner.actor !== "unknown";
  const actor = visible(scanner.actor);
  const does = !isActor
    ? `It scans the Internet and ${REASONS[classification]}`
    : classification === "benign"
      ? `It scans the Internet for ${actor}, a known operator of harmless scans`
      : `It belongs to ${actor}, a known operator of harmless scans, but what it did here is none: it logged in, ran a command, downloaded or left a file`;
  const both = service.found ? ` It also belongs to a known benign service, ${name}.` : "";
  return { verdict: classification, sentence: `${does}.${both}` };
}
