import { hash } from "node:crypto";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { formatFinder } from "../../formats/all.ts";
import type { LogFormat } from "../../formats/format.ts";
import type { RequestResult } from "../http/intake.ts";
import type { Part } from "../http/records.ts";
import type { BulkItem } from "./bulk.ts";
import { REJECTED_TYPE } from "./errors.ts";

/** What became of a document that is not rejected: stored, or ignored. */
export type Result = "created" | "noop";

/** What became of an item. */
type Outcome = { readonly result: Result } | { readonly error: { readonly type: string; readonly reason: string } };

/** @returns the records of a bulk request by their items, in the same order. Items without a document have none. */
export function toParts(items: readonly BulkItem[], formats: readonly LogFormat[]): ReadonlyMap<BulkItem, Part> {
  const formatsOf = formatFinder(formats);
  const parts = new Map<BulkItem, Part>();
  for (const item of items) {
    const { action, index = "", id, document } = item;
    if (document === undefined) continue;
    parts.set(item, {
      bytes: document,
      formats: formatsOf(index),
      observationId: id && `bulk:${hash("sha256", JSON.stringify([index, id])).slice(0, 32)}`,
      rejection: action === "update" ? UPDATE : undefined,
    });
  }
  return parts;
}

const UPDATE = {
  reason: "unknown-format",
  detail: "an update changes a document, which no record does: send it with index or create",
} as const;

/** What became of each item, as the answer says it. @param result of the records; undefined when there were none. */
export function describeItems(
  items: readonly BulkItem[],
  parts: ReadonlyMap<BulkItem, Part>,
  result: RequestResult | undefined,
) {
  const outcomes = Array<Outcome>(parts.size).fill({ result: "noop" });
  for (const { part } of result?.records ?? []) outcomes[part] = { result: "created" };
  for (const { record, rejection } of result?.rejected ?? []) {
    outcomes[record.part] = { error: { type: REJECTED_TYPE, reason: formatRejection(rejection) } };
  }
  const next = outcomes.values();
  return items.map((item) => {
    const { action, index = "", id } = item;
    const outcome = (parts.has(item) ? next.next().value : undefined) ?? withoutDocument(item);
    const status = "error" in outcome ? 400 : 201;
    return { [action]: { _index: index, ...(id !== undefined && { _id: id }), status, ...outcome } };
  });
}

export const formatRejection = ({ reason, detail }: Rejection) => `${reason}: ${detail}`;

/** The outcome of an item without a document. */
function withoutDocument({ action }: BulkItem): Outcome {
  const reason = action === "delete" ? "nothing is deleted here" : `no document follows the action ${action}`;
  return { error: { type: "action_request_validation_exception", reason } };
}
