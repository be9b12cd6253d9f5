import type { Scanner, Service } from "../../api/operations.ts";
import type { Verdict } from "../../shell/badge.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";
import { visible } from "../../text/hostile.tsx";

export type AddressVerdict = { readonly verdict: Verdict; readonly sentence: string };

const REASONS = {
  malicious: "was seen attacking: at least one of its tags is malicious",
  suspicious: "did what often precedes attacks: at least one of its tags is suspicious",
  unknown: "did nothing that says what for",
  benign: "did nothing harmful",
} as const;

/** The same of one that could be forged: who did it is not known. */
const FORGEABLE_REASONS = {
  malicious: "at least one tag of what was sent in its name is malicious",
  suspicious: "at least one tag of what was sent in its name is suspicious",
  unknown: "what was sent in its name does not say what for",
  benign: "what was sent in its name did nothing harmful",
} as const;

const PROOFS = {
  login: "a login",
  command: "a command",
  download: "a download or a file that it left",
  request: "a request",
  tls: "a TLS hello",
  ssh: "an SSH banner",
  connection: "a completed connection",
} as const;

/** Whether the address receives what is sent to it, and how that is known; empty of one that was not seen. */
export function contactOf({ found, spoofable, contact, metadata }: Scanner): string {
  if (!found) return "";
  if (spoofable) {
    const count = "sensor_hits" in metadata ? metadata.sensor_hits : 0;
    const all =
      count === 1 ? "its only observation did not complete" : `none of ${formatCount(count)} observations completed`;
    return `It could be forged: ${all} a handshake, so anybody may have sent this in its name.`;
  }
  if (contact.by === "") return "";
  const port = contact.destination_port === 0 ? "" : ` at port ${contact.destination_port}`;
  const sensor = contact.sensor === "" ? "" : ` of the sensor ${visible(contact.sensor)}`;
  return `It is not forged: ${PROOFS[contact.by]}${port}${sensor} on ${formatMinute(contact.observed_at)} proves that it receives what is sent to it.`;
}

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
    ? scanner.spoofable
      ? `It was seen scanning the Internet, and ${FORGEABLE_REASONS[classification]}`
      : `It scans the Internet and ${REASONS[classification]}`
    : classification === "benign"
      ? scanner.spoofable
        ? `It belongs to ${actor}, a known operator of harmless scans`
        : `It scans the Internet for ${actor}, a known operator of harmless scans`
      : `It belongs to ${actor}, a known operator of harmless scans, but what it did here is none: it logged in, ran a command, downloaded or left a file`;
  const both = service.found ? ` It also belongs to a known benign service, ${name}.` : "";
  return { verdict: classification, sentence: `${does}.${both}` };
}
