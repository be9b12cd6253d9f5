import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";
import type { AddressContext, ContextTag, QuickContext, Scanner } from "../../api/operations.ts";
import type { Verdict } from "../../shell/badge.tsx";

/** What is known of an address of a list. */
export type Result = {
  readonly ip: string;
  readonly verdict: Verdict;
  readonly isSeen: boolean;
  /** The trust level of the benign service that it belongs to; undefined if it belongs to none. */
  readonly trustLevel: string | undefined;
  /** Undefined where the answer is without them. */
  readonly details: Details | undefined;
};

export type Details = {
  /** `2026-11-20 14:00:00`; empty for an address that was not seen. */
  readonly lastSeen: string;
  readonly tags: readonly ContextTag[];
  readonly asn: string;
  readonly organization: string;
};

export const VERDICTS_WORST_FIRST: readonly Verdict[] = ["malicious", "suspicious", "unknown", "benign", "not seen"];

/** One for each address, in the order of the list: the answer leaves out those that are not known. */
export function toResults(asked: readonly string[], found: readonly (QuickContext | AddressContext)[]): Result[] {
  const contexts = new Map(found.map((context) => [context.ip, context]));
  return asked.map((ip) => {
    const context = contexts.get(ip);
    if (context === undefined)
      return { ip, verdict: "not seen", isSeen: false, trustLevel: undefined, details: undefined };
    const { internet_scanner_intelligence: scanner, business_service_intelligence: service } = context;
    return {
      ip,
      verdict: scanner.found ? scanner.classification || "unknown" : service.found ? "benign" : "not seen",
      isSeen: scanner.found,
      trustLevel: service.found ? service.trust_level : undefined,
      details: "tags" in scanner ? detailsOf(scanner) : undefined,
    };
  });
}

function detailsOf({ last_seen_timestamp: lastSeen, tags, metadata }: Scanner): Details {
  const { asn, organization } = "asn" in metadata ? metadata : { asn: "", organization: "" };
  return { lastSeen, tags, asn, organization };
}

/** Ties stay in the order of the list. */
export function worstFirst(results: readonly Result[]): Result[] {
  const rank = ({ verdict }: Result) => VERDICTS_WORST_FIRST.indexOf(verdict);
  return results.toSorted((one, other) => rank(one) - rank(other));
}

const COLUMNS = [
  "ip",
  "verdict",
  "seen_scanning",
  "benign_service",
  "trust_level",
  "last_seen",
  "tags",
  "asn",
  "organization",
];

/** With a line for the names; the last four columns are empty where the answer is without details. */
export function toCsv(results: readonly Result[]): string {
  const lines = results.map(({ ip, verdict, isSeen, trustLevel, details }) => {
    const { lastSeen = "", tags = [], asn = "", organization = "" } = details ?? {};
    const slugs = tags.map(({ slug }) => slug).join(" ");
    const facts = [ip, verdict, String(isSeen), String(trustLevel !== undefined), trustLevel ?? ""];
    return formatCsvLine([...facts, lastSeen, slugs, asn, organization]);
  });
  return [formatCsvLine(COLUMNS), ...lines].join("");
}
