import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { portOf } from "@noisefloor/http/server/listen.ts";
import { splitAddress } from "../../formats/addresses.ts";
import { openFrameReader } from "./frames.ts";
import type { MessageQueue } from "./queue.ts";

export type ListenOptions = {
  /** Of TCP and of UDP. 0 takes any that is free. */
  readonly port: number;
  readonly isSender: (address: string) => boolean;
  /** Its connections wait when it is full. */
  readonly tcp: MessageQueue;
  /** Its messages are dropped when it is full. */
  readonly udp: MessageQueue;
  /** Called with each sender that is turned away, and each message that is dropped. */
  readonly onDropped: (reason: DropReason, sender: string) => void;
};

/** Why what came is not stored. Metrics contain the names: never change a meaning. */
export const DROP_REASONS = ["sender", "connections", "queue-full", "failed"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export type Listener = {
  readonly port: number;
  /** Resolves when nothing more can come. */
  close(): Promise<void>;
};

/** Each may hold a message in memory. */
const MAX_CONNECTIONS = 128;
const KEEP_ALIVE_MS = 30_000;
/** For bursts. The system may allow less. */
const UDP_BUFFER_BYTES = 4 * 1024 * 1024;

/** Listens on all addresses. @throws Error when the port cannot be had. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { isSender, onDropped, tcp } = options;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const sender = splitAddress(socket.remoteAddress ?? "").address;
    const refusal = !isSender(sender) ? "sender" : sockets.size >= MAX_CONNECTIONS ? "connections" : undefined;
    socket.on("error", () => {});
    if (refusal !== undefined) {
      onDropped(refusal, sender);
      socket.destroy();
      return;
    }
    sockets.add(socket);
    void receive(socket, sender, tcp).finally(() => sockets.delete(socket));
  });
  server.listen(options.port);
  await once(server, "listening");
  const port = portOf(server);
  try {
    const udp = await bindUdp({ ...options, port });
    return {
      port,
      async close() {
        const closed = once(server, "close");
        server.close();
        for (const socket of sockets) socket.destroy();
        await Promise.all([closed, new Promise<void>((done) => udp.close(done))]);
      },
    };
  } catch (error) {
    server.close();
    throw error;
  }
}

/** Receives messages until the connection ends. */
async function receive(socket: Socket, sender: string, queue: MessageQueue): Promise<void> {
  // A sender that has vanished does not say so.
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const frames = openFrameReader();
  try {
    // Reading by iteration keeps the sender waiting while the queue is full.
    for await (const bytes of socket) {
      if (Buffer.isBuffer(bytes)) for (const message of frames.read(bytes)) await queue.put({ bytes: message, sender });
    }
    for (const message of frames.rest()) await queue.put({ bytes: message, sender });
  } catch {
    // The connection broke: what was complete is in the queue.
  } finally {
    socket.destroy();
  }
}

async function bindUdp({ port, isSender, udp, onDropped }: ListenOptions): Promise<UdpSocket> {
  const onMessage = (bytes: Buffer, { address }: RemoteInfo) => {
    const sender = splitAddress(address).address;
    if (!isSender(sender)) onDropped("sender", sender);
    else if (!udp.offer({ bytes, sender })) onDropped("queue-full", sender);
  };
  const bind = async (type: "udp4" | "udp6") => {
    const socket = createSocket({ type, recvBufferSize: UDP_BUFFER_BYTES }, onMessage);
    socket.bind(port);
    await once(socket, "listening").catch((error: unknown) => {
      socket.close();
      throw error;
    });
    socket.on("error", () => {});
    return socket;
  };
  // Of both families, unless the system has no IPv6.
  return bind("udp6").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") throw error;
    return bind("udp4");
  });
}
