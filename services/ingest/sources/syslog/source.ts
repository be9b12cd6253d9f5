import { inTime } from "@noisefloor/domain/time/unless-aborted.ts";
import { toListenError } from "@noisefloor/http/server/listen.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import type { DecodeOptions, LogFormat } from "../../formats/format.ts";
import { ingestBatch } from "../../pipeline/pipeline.ts";
import type { SourceOptions } from "../source-options.ts";
import { SYSLOG_RIGHT, syslogDeadLetter } from "./dead-letters.ts";
import { DROP_REASONS, type DropReason, listen } from "./listener.ts";
import { type Message, openQueue } from "./queue.ts";
import { openRecordReader } from "./records.ts";

export type SyslogSettings = {
  readonly port: number;
  /** Whether an address may send. */
  readonly isSender: (address: string) => boolean;
};

export type SyslogIngestOptions = SourceOptions & {
  readonly settings: SyslogSettings;
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  readonly dropped: { inc(labels: { readonly reason: DropReason }, messages: number): void };
};

export type SyslogIngest = {
  readonly port: number;
  /** Takes nothing more, and stores what is there, if the store answers in time. */
  stop(): Promise<void>;
};

/** Of messages that wait for the store, for TCP and for UDP. */
const QUEUE_BYTES = 8 * 1024 * 1024;
const DRAIN_MS = 5_000;
const WARN_EVERY_MS = 60_000;

/** Stores what arrives by syslog. @throws ListenError when the port cannot be listened on. */
export async function startSyslogIngest(options: SyslogIngestOptions): Promise<SyslogIngest> {
  const { settings, deadLetters, counts, dropped, log } = options;
  const read = openRecordReader(options.formats, options.decode);
  const warned = new Map<DropReason, number>();
  const drop = (reason: DropReason, sender: string, messages = 1) => {
    dropped.inc({ reason }, messages);
    const now = performance.now();
    if (now - (warned.get(reason) ?? Number.NEGATIVE_INFINITY) < WARN_EVERY_MS) return;
    warned.set(reason, now);
    log.warn({ reason, sender }, `syslog: ${WARNINGS[reason]}`);
  };
  for (const reason of DROP_REASONS) dropped.inc({ reason }, 0);
  const store = async (messages: readonly Message[]) => {
    try {
      const { records, ignored } = await read(messages);
      const ingested = await ingestBatch(records, {
        ...options,
        right: SYSLOG_RIGHT,
        explain: explainRejection,
        storeDeadLetters: (rejected) => deadLetters(rejected.map(syslogDeadLetter)),
      }).stored;
      counts.add(ingested, {});
      counts.addIgnored(ignored, {});
    } catch (error) {
      log.error({ err: error, messages: messages.length }, "syslog: storing messages failed, they are lost");
      drop("failed", messages[0]?.sender ?? "", messages.length);
    }
  };
  const [tcp, udp] = [openQueue(QUEUE_BYTES, store), openQueue(QUEUE_BYTES, store)];
  const listener = await listen({ ...settings, tcp, udp, onDropped: drop }).catch((error: unknown) => {
    throw toListenError(error, { host: "this machine", port: settings.port, portVariable: "SYSLOG_PORT" });
  });
  log.info({ port: listener.port }, "syslog: listening for TCP and UDP");
  return {
    port: listener.port,
    async stop() {
      await listener.close();
      const drained = Promise.all([tcp.drained(), udp.drained()]);
      await inTime(drained, DRAIN_MS, "the store does not answer").catch(() => {});
    },
  };
}

const WARNINGS: Readonly<Record<DropReason, string>> = {
  sender: "dropped what an address sent that SYSLOG_SENDERS does not name",
  connections: "too many connections, closed a new one",
  "queue-full": "the store is too slow or away, dropped datagrams",
  failed: "messages were not stored",
};
