import { setTimeout as sleep } from "node:timers/promises";
import { openTagCatalogue, type TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { countSimulated } from "@noisefloor/clickhouse/tables/simulated-activity.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { rowEncoder } from "@noisefloor/ingest/sinks/encode-rows.ts";
import { kafkaSink } from "@noisefloor/ingest/sinks/kafka.ts";
import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import type { AcceptedRecord, IncomingRecord } from "@noisefloor/ingest/types.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { z } from "zod";
import { directSink } from "../direct-sink.ts";
import { createCloseStack } from "../framework/close-stack.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { openRows } from "../row-options.ts";
import type { Store } from "../store.ts";
import { SENSOR_PREFIX } from "./fleet.ts";

/** Where simulated observations go. */
export type SimulationTarget = {
  /** What the summary calls it. */
  readonly verb: string;
  /** Resolves with how many of those that it takes were accepted, once they are safe. */
  send(observations: readonly ValidObservation[]): Promise<number>;
  close(): Promise<void>;
};

const NO_BYTES = Buffer.alloc(0);

type Accepted = AcceptedRecord<IncomingRecord>;

function toAccepted(valid: ValidObservation, catalogue: Pick<TagCatalogue, "resolve">): Accepted {
  const tagIds = valid.observation.tags.flatMap((tag) => catalogue.resolve(tag)?.id ?? []);
  // Dead letters need the bytes, and there are none: what is simulated is valid.
  return { record: { bytes: NO_BYTES, fallbackId: "" }, valid, tagIds };
}

/** What a simulated observation sends: the same object for all that send the same. */
function contentOf(valid: ValidObservation | undefined): object | undefined {
  if (valid === undefined || !("content" in valid)) return undefined;
  const { content } = valid;
  return typeof content === "object" && content !== null ? content : undefined;
}

/** Straight into the store, by the same rows as everything else. */
export async function storeTarget(context: CommandContext, { client }: Store): Promise<SimulationTarget> {
  const closeStack = createCloseStack();
  const catalogue = await openTagCatalogue(client);
  closeStack.add(catalogue.stop);
  const { rows, stop } = await openRows(context, client, catalogue, { contentOf });
  closeStack.add(stop);
  const { assertSpace, ...disk } = await openDiskGuard(client, { floorBytes: context.settings.minFreeDiskBytes });
  closeStack.add(disk.stop);
  const contentsOfRows = new WeakMap<object, object>();
  const onRow = (row: object, valid: ValidObservation) => {
    const content = contentOf(valid);
    if (content !== undefined) contentsOfRows.set(row, content);
  };
  const sink = directSink(client, {
    ...{ retryForMs: 60_000, assertSpace, rows: { ...rows, onRow } },
    encode: rowEncoder((row) => contentsOfRows.get(row)),
    // Each of its sessions is one record.
    joinsSessions: false,
  });
  const counted = countingSensors(client);
  closeStack.add(counted.finish);
  return {
    verb: "stored",
    async send(observations) {
      const accepted = observations.map((valid) => toAccepted(valid, catalogue));
      const rejected = await sink({ accepted, rejected: [] }, { hasMore: true });
      await counted.add(observations);
      return accepted.length - rejected.length;
    },
    close: closeStack.closeAll,
  };
}

const COUNT_EVERY_MS = 60_000;

/** Counts what the sensors have sent, as the intake does for others: once a minute, and at the end. */
function countingSensors(client: ClickHouseClient) {
  let span: { from: number; to: number } | undefined;
  let countedAt = performance.now();
  const count = async () => {
    const wanted = span;
    span = undefined;
    countedAt = performance.now();
    if (wanted !== undefined) await countSimulated(client, SENSOR_PREFIX, wanted);
  };
  return {
    async add(observations: readonly ValidObservation[]) {
      for (const { observedAt } of observations) {
        span ??= { from: observedAt, to: observedAt };
        span.from = Math.min(span.from, observedAt);
        span.to = Math.max(span.to, observedAt);
      }
      if (performance.now() - countedAt >= COUNT_EVERY_MS) await count();
    },
    finish: count,
  };
}

/** Into the topic of the intake. */
export async function kafkaTarget({ settings, log }: CommandContext): Promise<SimulationTarget> {
  if (settings.kafka === undefined) throw new UserError("--to kafka needs KAFKA_BROKERS");
  if (settings.kafka.createTopics) await createTopic(settings.kafka, log);
  const producer = await kafkaProducer(settings.kafka.connection, log);
  const sink = kafkaSink(producer.produce, settings.kafka.topic);
  return {
    verb: "published",
    async send(observations) {
      const accepted = observations.map((valid) => ({
        record: { bytes: Buffer.from(JSON.stringify(valid.observation)), fallbackId: "" },
        valid,
        tagIds: [],
      }));
      await sink({ accepted, rejected: [] });
      return accepted.length;
    },
    close: producer.close,
  };
}

/** An intake may be down for a moment, or busy. */
const ATTEMPTS = 8;
const PER_REQUEST = 5_000;
const countsSchema = z.looseObject({ accepted: z.int() });

/** To an intake over HTTP, without the personal dataset. @param key of a sensor, when the intake wants one. */
export function httpTarget(base: string, key: string | undefined): SimulationTarget {
  const url = `${base.replace(/\/+$/, "")}/v1/observations`;
  const headers = { "content-type": "application/x-ndjson", ...(key !== undefined && { key }) };
  const post = async (body: string): Promise<number> => {
    for (let attempt = 1; ; attempt++) {
      const answer = await request(url, headers, body);
      if (answer.status === 202) return countsSchema.parse(JSON.parse(answer.text)).accepted;
      const isPassing = answer.status === 0 || answer.status === 429 || answer.status >= 500;
      if (!isPassing || attempt === ATTEMPTS) throw new UserError(formatFailure(url, answer));
      await sleep(100 * 2 ** attempt);
    }
  };
  return {
    verb: "accepted",
    async send(observations) {
      // An intake takes personal data from the keys of their workspace only.
      const shared = observations.filter(({ observation }) => observation.dataset !== "personal");
      let accepted = 0;
      for (let first = 0; first < shared.length; first += PER_REQUEST) {
        const some = shared.slice(first, first + PER_REQUEST);
        accepted += await post(some.map(({ observation }) => JSON.stringify(observation)).join("\n"));
      }
      return accepted;
    },
    close: async () => {},
  };
}

function formatFailure(url: string, { status, text }: Answer): string {
  return `${url} ${status === 0 ? "does not answer" : `answered ${status}`}: ${text.slice(0, 300)}`;
}

type Answer = { readonly status: number; readonly text: string };

/** @returns the status 0 when nothing answers. */
async function request(url: string, headers: Record<string, string>, body: string): Promise<Answer> {
  try {
    const response = await fetch(url, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { status: 0, text: error instanceof Error ? error.message : String(error) };
  }
}
