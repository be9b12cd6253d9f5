import type { IHeaders, KafkaMessage } from "kafkajs";
import type { StreamMessage } from "./source.ts";

/** A message as the library hands it over, in our own terms. */
export function toStreamMessage(topic: string, partition: number, message: KafkaMessage): StreamMessage {
  const { offset, key, value, timestamp, headers } = message;
  const told = { topic, partition, offset, key, value, timestamp: Number(timestamp), headers: readHeaders(headers) };
  return "damage" in message && typeof message.damage === "string" ? { ...told, damage: message.damage } : told;
}

const NO_HEADERS = {};

function readHeaders(headers: IHeaders | undefined): Readonly<Record<string, string>> {
  if (headers === undefined) return NO_HEADERS;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]));
}
