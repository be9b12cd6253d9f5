/** One message as it was published. */
export type StreamMessage = {
  readonly topic: string;
  readonly partition: number;
  /** A 64-bit number, as text. */
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was published, or appended if the topic says so. Milliseconds since 1970 UTC. */
  readonly timestamp: number;
  /**
   * Why the batch of messages that ends at this offset cannot be read. Then this stands for all of them, and the value is
   * the batch as the brokers keep it.
   */
  readonly damage?: string;
};

export type StreamBatch = {
  /** In order, all from one partition. */
  readonly messages: readonly StreamMessage[];
  /** More of the partition was there when these were read. */
  readonly hasMore: boolean;
  /** Tells the group that this consumer is alive; to be called while the handler waits on something healthy. */
  heartbeat(): Promise<void>;
};

/**
 * Handles a batch. When it resolves, the batch is done with and its offsets are committed; when it rejects, nothing is
 * committed and the messages come again. Must therefore be idempotent.
 */
export type HandleBatch = (batch: StreamBatch) => Promise<void>;

/** The port through which observations stream in. */
export type StreamSource = {
  /** Resolves once the subscription runs. */
  start(handle: HandleBatch): Promise<void>;
  /** Connected, and its loop has turned lately. */
  isAlive(): boolean;
  /** Takes no new batch, lets the one under way end and be committed, and leaves the group. */
  stop(): Promise<void>;
  /** Rejects when the source has died for good and will bring nothing any more. */
  readonly failure: Promise<never>;
};

export type ProducedMessage = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Publishes; when it resolves, all in-sync replicas have the messages.
 * @throws TooLargeError when the brokers have all but some of them.
 * @throws StreamAwayError when the same may work later.
 */
export type Produce = (topic: string, messages: readonly ProducedMessage[]) => Promise<void>;

export type StreamProducer = { readonly produce: Produce; close(): Promise<void> };

/** The topic takes no messages as large as some. */
export class TooLargeError extends Error {
  override name = "TooLargeError";
  /** Those, the very ones that were handed over. */
  readonly messages: readonly ProducedMessage[];

  constructor(topic: string, messages: readonly ProducedMessage[], options: ErrorOptions) {
    super(`the topic ${topic} does not take messages as large as ${messages.length} of these`, options);
    this.messages = messages;
  }
}

/** The brokers cannot be reached, or cannot take anything now. */
export class StreamAwayError extends Error {
  override name = "StreamAwayError";
}
