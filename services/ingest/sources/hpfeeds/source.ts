import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { type DeadLetter, type DeadLetterStore, toPayload } from "../../dead-letters/dead-letter.ts";
import { openDecoder } from "../../formats/decoder.ts";
import type { DecodeOptions, IgnoredReason } from "../../formats/format.ts";
import { countIgnored } from "../../formats/ignored.ts";
import { splitMessage } from "../../formats/json/split.ts";
import { hpfeeds } from "../../formats/sensors/hpfeeds.ts";
import type { IngestMetrics } from "../../metrics.ts";
import { type BatchOptions, ingestBatch } from "../../pipeline.ts";
import type { IncomingRecord, RejectedRecord } from "../../record.ts";
import type { SourceActivity } from "../../sensor-counts/counter.ts";
import { type HpfeedsSettings, type PublishedMessage, type Subscriber, subscribe } from "./subscriber.ts";

export type HpfeedsIngestOptions = Omit<
  BatchOptions<IncomingRecord>,
  "right" | "sensorId" | "signal" | "hasMore" | "storeDeadLetters"
> & {
  readonly settings: HpfeedsSettings;
  readonly decode: DecodeOptions;
  readonly deadLetters: DeadLetterStore;
  /** Called with how many messages were no observations. */
  readonly onIgnored: (reason: IgnoredReason, records: number) => void;
  /** Counts what became of the messages by sensor. */
  readonly activity: SourceActivity;
  readonly metrics: Pick<IngestMetrics, "gauge">;
  readonly log: Logger;
};

/** Stores what a broker's publishers send. The broker keeps nothing: what it sends while we are away is lost. */
export function startHpfeedsIngest({ settings, ...options }: HpfeedsIngestOptions): Subscriber {
  const decode = openDecoder([hpfeeds], options.decode);
  const subscriber = subscribe(settings, {
    log: options.log,
    async onMessages(messages) {
      const ignored = countIgnored();
      const records = messages.flatMap((message) =>
        toRecords(message).flatMap((bytes): IncomingRecord[] =>
          decode(bytes).flatMap((record) =>
            ignored.add(record) ? [] : { ...record, fallbackId: `hpfeeds:${digestOf(bytes)}` },
          ),
        ),
      );
      for (const [reason, count] of ignored.counts) options.onIgnored(reason, count);
      options.activity.ignored(ignored.counts, {});
      // The broker decides who may publish.
      await ingestBatch(records, {
        ...options,
        right: "everything",
        onRecords: (counted) => options.activity.count(counted, {}),
        storeDeadLetters: (rejected) => options.deadLetters(rejected.map(toDeadLetter)),
      });
    },
  });
  options.metrics.gauge(
    "noisefloor_hpfeeds_connected_timestamp_seconds",
    "Since when the hpfeeds broker is connected, in seconds since 1970; absent while it is not",
    () => {
      const since = subscriber.connectedSince();
      return since === undefined ? undefined : since / 1_000;
    },
  );
  options.metrics.gauge(
    "noisefloor_hpfeeds_gaps",
    "How often the connection to the hpfeeds broker has ended: what was published meanwhile is lost",
    subscriber.gaps,
  );
  return subscriber;
}

/** The records that a message holds, each in the form in which collectors export messages. */
function toRecords({ channel, ident, payload }: PublishedMessage): Buffer[] {
  const parts = splitMessage(payload);
  return (Array.isArray(parts) && parts.length > 0 ? parts : [payload]).map((part) =>
    Buffer.from(JSON.stringify({ channel, ident, payload: part.toString("utf8") })),
  );
}

const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 32);

function toDeadLetter({ record: { bytes, value }, rejection, sensorId }: RejectedRecord<IncomingRecord>): DeadLetter {
  const origin = `hpfeeds:${digestOf(bytes)}`;
  return {
    source: "hpfeeds",
    origin,
    position: 0,
    rejection,
    sender: { right: "everything" },
    sensorId,
    value,
    ...toPayload(bytes),
  };
}
