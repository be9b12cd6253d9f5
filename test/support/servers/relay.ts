import { connect, createServer, type Socket } from "node:net";

/** A relay between a client and a server that can act as if the server stopped, hung or came back. */
export type Relay = {
  readonly port: number;
  /** Ends all connections and rejects new ones, as if the server had stopped. */
  stop(): Promise<void>;
  /** Accepts connections and their bytes, and never responds. */
  hang(): void;
  /** Passes everything on, as at the beginning. */
  pass(): Promise<void>;
};

export async function startRelay(host: string, port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isHanging = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    const upstream = keep(connect(port, host));
    keep(client).once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());
    client.on("data", (data) => void (isHanging || upstream.write(data)));
    upstream.on("data", (data) => void (isHanging || client.write(data)));
  });
  const listen = (at: number) => new Promise<void>((settle) => server.listen(at, "127.0.0.1", settle));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await listen(0);
  const address = server.address();
  const own = address !== null && typeof address === "object" ? address.port : 0;
  return {
    port: own,
    async stop() {
      const closed = new Promise((settle) => server.close(settle));
      cut();
      await closed;
    },
    hang() {
      isHanging = true;
    },
    async pass() {
      isHanging = false;
      // Their bytes since the hang are lost, so the connections are useless.
      cut();
      if (!server.listening) await listen(own);
    },
  };
}
