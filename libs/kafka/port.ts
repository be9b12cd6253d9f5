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
   * Why the record batch that ends at this offset cannot be decoded. The message then stands for the whole batch, and
   * its value is the batch's bytes as the broker stores them.
   */
  readonly damage?: string;
};

export type StreamBatch = {
  /** In order, all from one partition. */
  readonly messages: readonly StreamMessage[];
  /** Whether the partition held more messages when these were fetched. */
  readonly hasMore: boolean;
  /** Keeps the group membership alive; call it while the handler waits on something healthy. */
  heartbeat(): Promise<void>;
  /** Call it when nothing but waiting for the store is left to do: more may be fetched meanwhile. */
  onPrepared(): void;
  /** Aborted when the batch is delivered again in any case: the one before it has failed, or its consumer was away. */
  readonly signal: AbortSignal;
};

/**
 * Handles a batch. When it has resolved for this and all earlier batches of the partition, the consumer commits the
 * batch's offsets. When it rejects, no offsets of this and later batches are committed, and their messages are
 * delivered again. Must therefore be idempotent. It is called for a partition's next batch while it handles the one
 * before, so that one can be prepared while the other is stored.
 */
export type HandleBatch = (batch: StreamBatch) => Promise<void>;

/** The port through which observations stream in. */
export type StreamConsumer = {
  /** Resolves once the consumer runs. */
  start(handle: HandleBatch): Promise<void>;
  /** Whether a fetch, a heartbeat or a batch succeeded lately. */
  isAlive(): boolean;
  /** Fetches no new batch, lets the current ones finish and be committed, and leaves the group. */
  stop(): Promise<void>;
  /** Rejects when the consumer has failed for good. */
  readonly failure: Promise<never>;
};

export type ProducedMessage = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Publishes; when it resolves, all in-sync replicas have the messages.
 * @throws MessageTooLargeError when the brokers took all messages but those it lists.
 * @throws KafkaUnavailableError when a retry may succeed.
 */
export type Produce = (topic: string, messages: readonly ProducedMessage[]) => Promise<void>;

export type StreamProducer = { readonly produce: Produce; close(): Promise<void> };
