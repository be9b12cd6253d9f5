import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import { openDecoder } from "../../formats/decoder.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import type { DecodeOptions } from "../../formats/format.ts";
import { hpfeeds } from "../../formats/sensors/hpfeeds/hpfeeds.ts";
import { ingestBatch } from "../../pipeline/pipeline.ts";
import type { SourceOptions } from "../source-options.ts";
import { feedDeadLetter } from "./dead-letters.ts";
import { readRecords } from "./records.ts";
import { type HpfeedsSettings, type Subscriber, subscribe } from "./subscriber.ts";

export type HpfeedsIngestOptions = SourceOptions & {
  readonly settings: HpfeedsSettings;
  readonly decode: DecodeOptions;
  readonly metrics: Pick<Metrics, "gauge">;
};

/** Stores what a broker's publishers send. The broker keeps nothing: what it sends while we are away is lost. */
export function startHpfeedsIngest(options: HpfeedsIngestOptions): Subscriber {
  const { settings, deadLetters, counts, metrics, log } = options;
  const decode = openDecoder([hpfeeds], options.decode);
  const subscriber = subscribe(settings, {
    log,
    async onMessages(messages) {
      const { records, ignored } = readRecords(messages, decode);
      const ingested = await ingestBatch(records, {
        ...options,
        // The broker decides who may publish.
        right: "everything",
        explain: explainRejection,
        storeDeadLetters: (rejected) => deadLetters(rejected.map(feedDeadLetter)),
      }).stored;
      counts.add(ingested, {});
      counts.addIgnored(ignored, {});
    },
  });
  metrics.gauge(
    "noisefloor_hpfeeds_connected_timestamp_seconds",
    "Since when the hpfeeds broker is connected, in seconds since 1970; absent while it is not",
    () => {
      const since = subscriber.connectedSince();
      return since === undefined ? undefined : since / 1_000;
    },
  );
  metrics.gauge(
    "noisefloor_hpfeeds_gaps",
    "How often the connection to the hpfeeds broker has ended: what was published meanwhile is lost",
    subscriber.gaps,
  );
  return subscriber;
}
