import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import type { Produce } from "@noisefloor/kafka/port/port.ts";
import { FALLBACK_ID_HEADER, ID_NAMESPACE_HEADER } from "../record-id.ts";
import type { RecordSink } from "./sink.ts";

/** One process joins the records of a session: they go to one partition. */
function keyOf({ sensor_id, session_id }: ValidObservation["observation"]): Buffer | null {
  return session_id === undefined ? null : Buffer.from(`${sensor_id}/${session_id}`);
}

/**
 * Publishes accepted records, in their own bytes unless these are in another format or do not say where the observation
 * belongs. Headers carry what the topic's consumer cannot know: the id of a record whose sensor gave it none, so that a
 * message that the producer writes twice is one observation, and the key within which a sensor's id is unique.
 */
export function topicSink(produce: Produce, topic: string): RecordSink {
  return {
    async publish(accepted) {
      const messages = accepted.map(({ record: { value, bytes, fallbackId, idNamespace }, valid }) => ({
        key: keyOf(valid.observation),
        value: value === undefined ? bytes : Buffer.from(JSON.stringify(value)),
        headers: {
          [FALLBACK_ID_HEADER]: fallbackId,
          ...(idNamespace !== undefined && { [ID_NAMESPACE_HEADER]: idNamespace }),
        },
      }));
      await produce(topic, messages);
    },
  };
}
