import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { isFields, toText } from "../../formats/fields.ts";
import { BYTES_AT_ONCE, skippingSpace } from "../../formats/json/scan.ts";
import { withoutByteOrderMark } from "../../formats/json/split.ts";
import { MAX_RECORDS } from "../http/operation.ts";
import { CHANGING, STORING } from "./operation.ts";

type Action = (typeof STORING)[number] | (typeof CHANGING)[number];

/** An action of a bulk request. */
export type BulkItem = {
  readonly action: Action;
  /** Undefined when neither the action nor the path names one. */
  readonly index: string | undefined;
  readonly id: string | undefined;
  /** The line with its document; undefined where that is missing, and for an action that has none. */
  readonly document: Buffer | undefined;
};

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** The longest line with an action: an `_id` has at most 512 bytes, but there are other members. */
const MAX_ACTION_BYTES = 8 * 1024;

/**
 * Reads the body of a bulk request. Documents are not parsed here: a broken one costs none of its neighbours. A line
 * that should be an action and is none ends it all, for then no line can be told from a document.
 * @param index that of the path.
 * @throws HttpError 400 or 413.
 */
export function readBulk(body: unknown, index: string | undefined): Promise<readonly BulkItem[]> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  return runInSteps(readingBulk(withoutByteOrderMark(body), index));
}

function* readingBulk(body: Buffer, index: string | undefined): Generator<void, readonly BulkItem[]> {
  const items: BulkItem[] = [];
  let at = 0;
  let yieldAt = BYTES_AT_ONCE;
  const nextLine = () => {
    const found = body.indexOf(LINE_FEED, at);
    const end = found < 0 ? body.length : found;
    const line = body.subarray(at, body[end - 1] === CARRIAGE_RETURN && end > at ? end - 1 : end);
    at = end + 1;
    return line;
  };
  for (;;) {
    at = yield* skippingSpace(body, at);
    if (at >= body.length) break;
    if (at >= yieldAt) {
      yieldAt = at + BYTES_AT_ONCE;
      yield;
    }
    const about = readAction(nextLine(), items.length + 1);
    const document = about.action === "delete" ? undefined : nextLine();
    items.push({ ...about, index: about.index ?? index, document: document?.length === 0 ? undefined : document });
    if (items.length > MAX_RECORDS) {
      throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
    }
  }
  if (items.length === 0) throw new HttpError(400, "The request body has no action");
  return items;
}

/** @throws HttpError 400 that names the action. */
function readAction(line: Buffer, number: number) {
  const [[name, about] = ["", undefined], ...others] = Object.entries(parse(line));
  const action = [...STORING, ...CHANGING].find((one) => one === name);
  if (action === undefined || others.length > 0 || !isFields(about)) {
    const expected = `an object with one of ${[...STORING, ...CHANGING].join(", ")} is expected`;
    throw new HttpError(400, `Malformed action/metadata line of action ${number}: ${expected}`);
  }
  return { action, index: toText(about._index), id: toText(about._id) };
}

function parse(line: Buffer): object {
  if (line.length > MAX_ACTION_BYTES) return {};
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
