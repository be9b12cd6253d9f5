import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { pauseAfter } from "@noisefloor/domain/time/retry.ts";
import type { Logger } from "pino";
import { authMessage, type BrokerMessage, openMessageReader, subscribeMessage } from "./protocol.ts";

/** Where a broker is, and as whom to subscribe to what. */
export type HpfeedsSettings = {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly ident: string;
  readonly secret: string;
  readonly channels: readonly string[];
};

export type PublishedMessage = Extract<BrokerMessage, { kind: "publish" }>;

export type SubscriberOptions = {
  /** Stores messages; while it does, the connection is not read. */
  readonly onMessages: (messages: readonly PublishedMessage[]) => Promise<void>;
  readonly log: Logger;
};

export type Subscriber = {
  /** Since when it is connected, in milliseconds since 1970 UTC; undefined while it is not. */
  connectedSince(): number | undefined;
  /** How often a connection has ended: the broker keeps nothing for a subscriber that is away. */
  gaps(): number;
  stop(): Promise<void>;
};

const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const PAUSES = { firstMs: 250, maxMs: 30_000 };
/** A connection that lasted so long was a good one. */
const STABLE_MS = 10_000;

/** Subscribes, and connects again with growing pauses whenever the connection ends. */
export function subscribe(settings: HpfeedsSettings, { onMessages, log }: SubscriberOptions): Subscriber {
  const shutdown = new AbortController();
  let since: number | undefined;
  let gaps = 0;
  const broker = `${settings.host}:${settings.port}`;
  const run = async () => {
    for (let attempt = 1; !shutdown.signal.aborted; attempt++) {
      try {
        await receive(settings, shutdown.signal, onMessages, () => {
          since = Date.now();
          log.info({ broker, channels: settings.channels }, "hpfeeds: subscribed");
        });
      } catch (error) {
        if (!shutdown.signal.aborted) log.warn({ err: error, broker }, "hpfeeds: receiving failed, connecting again");
      }
      if (since !== undefined) gaps++;
      // A broker that does not know the secret says so only after the subscription: it must not be asked at once again.
      if (since !== undefined && Date.now() - since >= STABLE_MS) attempt = 1;
      since = undefined;
      await sleep(pauseAfter(attempt, PAUSES), undefined, { signal: shutdown.signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    connectedSince: () => since,
    gaps: () => gaps,
    async stop() {
      shutdown.abort();
      await running;
    },
  };
}

/** Receives messages until the connection ends. @throws when it fails or the broker refuses. */
async function receive(
  settings: HpfeedsSettings,
  signal: AbortSignal,
  onMessages: SubscriberOptions["onMessages"],
  onSubscribed: () => void,
): Promise<void> {
  const socket = await open(settings);
  const end = () => socket.destroy();
  signal.addEventListener("abort", end, { once: true });
  try {
    const read = openMessageReader();
    let isSubscribed = false;
    // Reading by iteration keeps the broker waiting while a batch is stored.
    for await (const bytes of socket) {
      if (!Buffer.isBuffer(bytes)) continue;
      const published: PublishedMessage[] = [];
      try {
        for (const message of read(bytes)) {
          if (message.kind === "error") throw new Error(`the broker says: ${message.text}`);
          if (message.kind === "publish") published.push(message);
          else {
            socket.write(authMessage(settings.ident, settings.secret, message.nonce));
            for (const channel of settings.channels) socket.write(subscribeMessage(settings.ident, channel));
          }
          if (!isSubscribed) onSubscribed();
          isSubscribed = true;
        }
      } finally {
        // Also those that came before an error, which the broker does not send again.
        if (published.length > 0) await onMessages(published);
      }
    }
    if (!signal.aborted) throw new Error("the broker closed the connection");
  } finally {
    signal.removeEventListener("abort", end);
    socket.destroy();
  }
}

async function open({ host, port, tls }: HpfeedsSettings): Promise<Socket> {
  const socket = tls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
  // A broker or firewall that forgets an idle connection does not say so.
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  try {
    await once(socket, tls ? "secureConnect" : "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
