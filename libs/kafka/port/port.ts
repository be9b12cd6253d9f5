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
  /** The first offset of such a batch. */
  readonly damagedFrom?: string;
};

export type StreamBatch = {
  /** In order, all from one partition: all that was fetched and not taken before. */
  readonly messages: readonly StreamMessage[];
  /** Keeps the group membership alive; call it while the handler waits on something healthy. */
  heartbeat(): Promise<void>;
  /** Aborted when the batch is delivered again in any case: the one before it has failed, or its consumer was away. */
  readonly signal: AbortSignal;
};

/** What a handler has taken of a batch. */
export type TakenMessages = {
  /** How many of its first messages, at least one: the others come in the next batch. */
  readonly taken: number;
  /** Resolves when they are stored. */
  readonly stored: Promise<void>;
};

/**
 * Takes messages from the beginning of a batch and prepares them; resolves when nothing but waiting for the store is
 * left to do. When they and all earlier ones of the partition are stored, the consumer commits their offsets. When
 * either promise rejects, no offsets from there on are committed, and the messages are delivered again. Must therefore
 * be idempotent. It is called for what follows while the messages before are being stored.
 */
export type HandleBatch = (batch: StreamBatch) => Promise<TakenMessages>;

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
