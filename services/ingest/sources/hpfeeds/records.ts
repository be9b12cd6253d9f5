import { createHash } from "node:crypto";
import type { Decoder } from "../../formats/decoder.ts";
import { countIgnored, type IgnoredCounts } from "../../formats/ignored.ts";
import { splitMessage } from "../../formats/json/split.ts";
import type { IncomingRecord } from "../../record.ts";
import type { PublishedMessage } from "./subscriber.ts";

/** The records of messages, and how many were no observations, by reason. */
export function readRecords(
  messages: readonly PublishedMessage[],
  decode: Decoder,
): { readonly records: readonly IncomingRecord[]; readonly ignored: IgnoredCounts } {
  const ignored = countIgnored();
  const records = messages.flatMap(splitPublished).flatMap((bytes) =>
    decode(bytes).flatMap((record): IncomingRecord[] => {
      if (ignored.add(record)) return [];
      return [{ ...record, fallbackId: `hpfeeds:${digestOf(bytes)}` }];
    }),
  );
  return { records, ignored: ignored.counts };
}

/** The records that a message holds, each in the form in which collectors export messages. */
function splitPublished({ channel, ident, payload }: PublishedMessage): Buffer[] {
  const parts = splitMessage(payload);
  return (Array.isArray(parts) && parts.length > 0 ? parts : [payload]).map((part) =>
    Buffer.from(JSON.stringify({ channel, ident, payload: part.toString("utf8") })),
  );
}

export const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 32);
