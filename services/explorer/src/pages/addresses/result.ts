import type { QuickContext } from "../../api/operations.ts";
import type { Verdict } from "../../shell/badge.tsx";

/** What is known of an address of a list. */
export type Result = {
  readonly ip: string;
  readonly verdict: Verdict;
  readonly isSeen: boolean;
  /** Of the benign service that it belongs to; undefined if it belongs to none. */
  readonly trustLevel: string | undefined;
};

export const VERDICTS_WORST_FIRST: readonly Verdict[] = ["malicious", "suspicious", "unknown", "benign", "not seen"];

/** One for each address, in the order of the list: the answer leaves out those that are not known. */
export function toResults(asked: readonly string[], found: readonly QuickContext[]): Result[] {
  const contexts = new Map(found.map((context) => [context.ip, context]));
  return asked.map((ip) => {
    const context = contexts.get(ip);
    if (context === undefined) return { ip, verdict: "not seen", isSeen: false, trustLevel: undefined };
    const { internet_scanner_intelligence: scanner, business_service_intelligence: service } = context;
    return {
      ip,
      verdict: scanner.found ? scanner.classification || "unknown" : service.found ? "benign" : "not seen",
      isSeen: scanner.found,
      trustLevel: service.found ? service.trust_level : undefined,
    };
  });
}

/** Ties stay in the order of the list. */
export function worstFirst(results: readonly Result[]): Result[] {
  const rank = ({ verdict }: Result) => VERDICTS_WORST_FIRST.indexOf(verdict);
  return results.toSorted((one, other) => rank(one) - rank(other));
}

/** With a line for the names; RFC 4180. No value needs quotes. */
export function toCsv(results: readonly Result[]): string {
  const lines = results.map(
    ({ ip, verdict, isSeen, trustLevel }) =>
      `${ip},${verdict},${isSeen},${trustLevel !== undefined},${trustLevel ?? ""}`,
  );
  return ["ip,verdict,seen_scanning,benign_service,trust_level", ...lines, ""].join("\r\n");
}
