import { createHash } from "node:crypto";
import { z } from "zod";
import { type FuzzAnswer, OPERATION_HEADER } from "./check-answer.ts";
import type { FuzzRequest } from "./drafts.ts";

const intakeAnswer = z.object({
  accepted: z.int(),
  rejected: z.int(),
  ignored: z.int(),
  reasons: z.record(z.string(), z.int()),
  rejections: z.array(z.object({ position: z.int(), reason: z.string() })),
});

/** A rejected record as its reason and a digest of its bytes. */
export function fingerprint(reason: string, digest: string): string {
  return `${reason} ${digest.toLowerCase()}`;
}

/** The operations whose answers count records. */
const COUNTED: ReadonlySet<string> = new Set(["postObservations", "postObservationLines", "postTpotBatch"]);

/** Counts answers by operation and status, and the records that the intake reports as accepted and rejected. */
export class Ledger {
  readonly #statuses = new Map<string, Map<number, number>>();
  /** Every rejected record that the intake has listed. */
  readonly listed: string[] = [];
  readonly reasons = new Set<string>();
  requests = 0;
  accepted = 0;
  rejected = 0;

  count(operation: string, status: number): void {
    const of = this.#statuses.get(operation) ?? new Map<number, number>();
    this.#statuses.set(operation, of.set(status, (of.get(status) ?? 0) + 1));
    this.requests++;
  }

  of(operation: string, status: number): number {
    return this.#statuses.get(operation)?.get(status) ?? 0;
  }

  /** Enters an answer. @returns what does not add up, if anything. */
  enter(request: FuzzRequest, answer: FuzzAnswer): string | undefined {
    const operation = String(answer.headers[OPERATION_HEADER] ?? "none");
    this.count(operation, answer.status);
    if (!COUNTED.has(operation) || (answer.status !== 202 && answer.status !== 422)) return undefined;
    const { accepted, rejected, ignored, reasons, rejections } = intakeAnswer.parse(JSON.parse(answer.text));
    this.accepted += accepted;
    this.rejected += rejected;
    // In a sensor's own format a line may be a header.
    const isOurs = operation === "postObservations" && !request.target.includes("format=");
    const sent = isOurs ? (request.records?.length ?? recordsIn(request)) : undefined;
    if (sent !== undefined && accepted + rejected + ignored !== sent) return `${sent} records were sent`;
    if (Object.values(reasons).reduce((sum, count) => sum + count, 0) !== rejected) return "reasons of other records";
    for (const reason of Object.keys(reasons)) this.reasons.add(reason);
    for (const { position, reason } of rejections) {
      const record = request.records?.[position - 1];
      if (record !== undefined) this.listed.push(fingerprint(reason, createHash("md5").update(record).digest("hex")));
    }
    return undefined;
  }

  /** A line for each operation. */
  toString(): string {
    const lines = [...this.#statuses].map(
      ([operation, of]) =>
        `${operation}: ${[...of]
          .sort(([one], [other]) => one - other)
          .map(([status, times]) => `${status} x ${times}`)
          .join(", ")}`,
    );
    return [`${this.requests} requests`, ...lines].join("\n");
  }
}

/**
 * The number of records in a body: one JSON value, the elements of an array, else its lines. Undefined if compressed.
 */
function recordsIn({ payload, headers }: FuzzRequest): number | undefined {
  if (payload === undefined || !/^(?:identity)?$/i.test(headers["content-encoding"] ?? "")) return undefined;
  try {
    const value: unknown = JSON.parse(payload.toString("utf8"));
    return Array.isArray(value) ? value.length : 1;
  } catch {
    const lines = payload.toString("latin1").split("\n");
    return lines.filter((line) => /[^ \t\r]/.test(line)).length;
  }
}
