import { createRequire } from "node:module";
import kafkajs, { CompressionTypes } from "kafkajs";
import { KafkaError } from "../port/errors.ts";
import { decompress } from "../record-batch/codecs.ts";
import { MAX_BATCH_MEMORY } from "../record-batch/record-batch.ts";
import { patchAbortedTransactions } from "./aborted-transactions.ts";
import { patchFetchDecoder } from "./fetch-decoder.ts";
import { patchLostMessages } from "./lost-messages.ts";
import { patchRawRequests } from "./raw-requests.ts";
import { patchResponses } from "./responses.ts";
import { patchStaticMembership } from "./static-membership.ts";

/** The patches reach into this version's files; any other may have moved or changed what they replace. */
const KAFKAJS_VERSION = "2.2.4";

let isInstalled = false;

/**
 * Patches kafkajs, for the whole process; a second call does nothing. Each patch says which fault it mends, how that
 * was seen and which test plays it. kafkajs has no option for any of them.
 * @throws KafkaError when another version is installed.
 */
export function install(): void {
  if (isInstalled) return;
  assertPatchable(installedVersion());
  registerCodecs();
  patchFetchDecoder();
  // After the decoder: this loads modules that keep a reference to the decoder they find.
  patchAbortedTransactions();
  patchStaticMembership();
  patchRawRequests();
  patchResponses();
  patchLostMessages();
  isInstalled = true;
}

export function assertPatchable(version: string): void {
  if (version === KAFKAJS_VERSION) return;
  throw new KafkaError(
    `kafkajs ${version} is installed, but libs/kafka/kafkajs-patches is written for ${KAFKAJS_VERSION}: ` +
      `install ${KAFKAJS_VERSION}, or read each patch against the new version and raise KAFKAJS_VERSION`,
  );
}

function installedVersion(): string {
  const manifest: { readonly version: string } = createRequire(import.meta.url)("kafkajs/package.json");
  return manifest.version;
}

/**
 * Not a patch but the library's own extension point, which is as global as they are. Without a codec one compressed
 * batch stops the consumer. Only batches from before Kafka 0.11 reach these: newer ones go to our own decoder.
 */
function registerCodecs(): void {
  for (const type of [CompressionTypes.Snappy, CompressionTypes.LZ4] as const) {
    kafkajs.CompressionCodecs[type] = () => ({
      compress: () => Promise.reject(new Error("this process publishes without compression")),
      decompress: (compressed: Buffer) => decompress(type, compressed, MAX_BATCH_MEMORY),
    });
  }
}
