import type { IHeaders, KafkaMessage } from "kafkajs";
import type { StreamMessage } from "./port/port.ts";

/** Turns the library's message into the port's. */
export function toStreamMessage(topic: string, partition: number, message: KafkaMessage): StreamMessage {
  const { offset, key, value, timestamp } = message;
  const headers = readHeaders(message.headers);
  const ours = { topic, partition, offset, key, value, timestamp: Number(timestamp), headers };
  // Only our decoder sets it, see kafkajs-patches/fetch-decoder.ts.
  if (!("damage" in message) || typeof message.damage !== "string") return ours;
  const damagedFrom = "damagedFrom" in message ? String(message.damagedFrom) : offset;
  return { ...ours, damage: message.damage, damagedFrom };
}

const NO_HEADERS = Object.freeze({});

function readHeaders(headers: IHeaders | undefined): Readonly<Record<string, string>> {
  if (headers === undefined || isEmpty(headers)) return NO_HEADERS;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]));
}

function isEmpty(headers: IHeaders): boolean {
  for (const _ in headers) return false;
  return true;
}

type Sized = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
};

/** What a message takes besides its key, value and headers. */
const ENVELOPE_BYTES = 256;

/** About how many bytes a message takes in memory and in a request. */
export function sizeOf(message: Sized): number {
  return ENVELOPE_BYTES + contentSizeOf(message);
}

/** The bytes of its key, value and headers. */
function contentSizeOf({ key, value, headers = {} }: Sized): number {
  let size = (value?.length ?? 0) + (key?.length ?? 0);
  for (const [name, text] of Object.entries(headers)) size += name.length + String(text ?? "").length;
  return size;
}
