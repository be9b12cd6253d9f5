import type { DecodeOptions, LogFormat } from "../../formats/format.ts";
import { observationsFormat } from "../../formats/observations.ts";
import { type Part, type ReadOptions, type RequestRecords, readRecords } from "./records.ts";
import { type ClaimedRequest, originOf, type RequestIdentity } from "./requests.ts";

/** Reads when it is the sender's turn: to decode takes a whole thread. */
export type InTurn = <T>(read: () => Promise<T>) => Promise<T>;

type ClaimOptions = Omit<ReadOptions, "origin"> & {
  readonly claim: (identity: RequestIdentity) => Promise<ClaimedRequest>;
  readonly inTurn: InTurn;
};

/**
 * Decodes the records of a request, with ids and times that are the same when it is sent again. It is claimed when a
 * record may be without an id or time of its own: logs of sensors give each record an id.
 */
export async function readClaimed(
  parts: readonly Part[],
  identity: RequestIdentity,
  { claim, inTurn, ...options }: ClaimOptions,
): Promise<RequestRecords & { readonly claimed: ClaimedRequest | undefined }> {
  let claimed = mayLackIds(parts, options.formats) ? await claim(identity) : undefined;
  const startedAt = claimed?.beganAt ?? options.decode.now();
  let lacksTimes = false;
  const decodeAt = (time: number): DecodeOptions => ({
    ...options.decode,
    now() {
      lacksTimes = true;
      return time;
    },
  });
  const read = (time: number) =>
    inTurn(() =>
      readRecords(parts, { ...options, origin: claimed?.origin ?? originOf(identity), decode: decodeAt(time) }),
    );
  const records = await read(startedAt);
  if (!lacksTimes) return { ...records, claimed };
  claimed ??= await claim(identity);
  const { beganAt } = claimed;
  if (beganAt !== undefined && beganAt !== startedAt) return { ...(await read(beganAt)), claimed };
  if (beganAt === undefined) await claimed.keepTime(startedAt);
  return { ...records, claimed };
}

const mayLackIds = (parts: readonly Part[], formats: readonly LogFormat[]): boolean =>
  parts.some(
    ({ bytes, observationId, formats: own = formats }) =>
      observationId === undefined && own.includes(observationsFormat) && !bytes.includes('"observation_id"'),
  );
