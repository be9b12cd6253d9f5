import { hash } from "node:crypto";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import { LRUCache } from "lru-cache";
import { type Decoder, openDecoder } from "../../formats/decoder.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "../../formats/format.ts";
import { countIgnored, type IgnoredCounts } from "../../formats/ignored.ts";
import { rejectOversize } from "../../formats/json/parse.ts";
import { readSyslogHead } from "../../formats/text/syslog.ts";
import type { IncomingRecord } from "../../record.ts";
import { MAX_MESSAGE_BYTES } from "./frames.ts";
import type { Message } from "./queue.ts";

/** Of so many senders it is known which program's lines they send. */
const MAX_SENDERS = 1_000;

export type Records = { readonly records: readonly IncomingRecord[]; readonly ignored: IgnoredCounts };

/** Reads the records of messages. */
export function openRecordReader(
  formats: readonly LogFormat[],
  options: DecodeOptions,
): (messages: readonly Message[]) => Promise<Records> {
  const open = () => ({ whole: openDecoder(formats, options), text: openDecoder(formats, options) });
  const decoders = new LRUCache<string, ReturnType<typeof open>>({ max: MAX_SENDERS, memoMethod: open });
  return async (messages) => {
    const ignored = countIgnored();
    const records: IncomingRecord[] = [];
    const pace = createRecordPace();
    for (const { bytes, sender } of messages) {
      const message = withoutEnd(bytes);
      if (message.length === 0) continue;
      const due = pace(message.length);
      if (due !== undefined) await due;
      for (const record of readMessage(message, sender, options.now(), decoders.memo(sender))) {
        if (ignored.add(record)) continue;
        records.push({ ...record, fallbackId: `syslog:${hash("sha256", message).slice(0, 32)}` });
      }
    }
    return { records, ignored: ignored.counts };
  };
}

/**
 * Reads a message: some formats read it with its head, others the text after it. The sensor is what the record says,
 * else the head's host, else the address that the message came from.
 */
function readMessage(
  bytes: Buffer,
  sender: string,
  now: number,
  decoders: { readonly whole: Decoder; readonly text: Decoder },
): readonly FileRecord[] {
  const rejection = rejectOversize(bytes.length, MAX_MESSAGE_BYTES);
  if (rejection !== undefined) return [{ bytes, rejection }];
  // Where neither the record nor the head has a time, it is that of the arrival.
  const arrival = new Date(now).toISOString();
  const whole = decoders.whole(bytes, { sensor: sender, time: arrival });
  if (!whole.every(isUnread)) return whole;
  const line = bytes.toString("utf8");
  const { host, time, end } = readSyslogHead(line);
  const text = line.slice(end).replace(TAG, "");
  const inner = decoders.text(Buffer.from(text), { sensor: host ?? sender, time: time ?? arrival });
  return inner.some(({ value }) => value !== undefined) ? inner.map((record) => ({ ...record, bytes })) : whole;
}

/** The program, which stands before the text in the older form. */
const TAG = /^\s*[\w./-]+(?:\[\d+\])?: /;

/** Whether no format reads it, or one takes it for another program's. */
const isUnread = ({ rejection, ignored }: FileRecord) =>
  rejection?.reason === "unknown-format" || rejection?.reason === "not-json" || ignored === "other-program";

/** Without the newline or NUL that some senders put at the end of a datagram. */
function withoutEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && [0x00, 0x0a, 0x0d].includes(bytes[end - 1] ?? -1)) end--;
  return bytes.subarray(0, end);
}
