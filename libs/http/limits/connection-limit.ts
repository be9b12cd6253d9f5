import { BlockList, isIPv6, type Server, type Socket } from "node:net";
import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import { type OnRejected, respondAndClose } from "./rejections.ts";

export type ConnectionLimits = {
  /** Open connections of one client; trusted proxies may have any number. */
  readonly perClient: number;
  readonly total: number;
  readonly trustedProxies: readonly string[];
};

export type ConnectionLimit = {
  /** Call it for each server that shares the limits. */
  track(server: Server): void;
  /** Requests on a rejected connection must not be handled. */
  isRejected(socket: Socket): boolean;
};

/** At this multiple of a limit connections are closed without a response. */
const SILENT_FACTOR = 2;

/** Rejects connections beyond the limits. */
export function connectionLimit(limits: ConnectionLimits, onRejected: OnRejected): ConnectionLimit {
  const isProxy = proxyMatcher(limits.trustedProxies);
  const byClient = new Map<string, number>();
  const rejected = new WeakSet<Socket>();
  let total = 0;
  const reject = (socket: Socket, reason: "client_connections" | "connections", isSilent: boolean) => {
    rejected.add(socket);
    onRejected(reason);
    if (isSilent) socket.destroy();
    else respondAndClose(socket, reason);
  };
  return {
    isRejected: (socket) => rejected.has(socket),
    track(server) {
      // Before its handshake a TLS client cannot read a response.
      const speaksHttp = !("setSecureContext" in server);
      server.on("connection", (socket: Socket) => {
        const address = socket.remoteAddress ?? "";
        const client = clientNetwork(address, undefined);
        const ofClient = isProxy(address) ? 0 : (byClient.get(client) ?? 0) + 1;
        total++;
        byClient.set(client, ofClient);
        socket.once("close", () => {
          total--;
          const left = (byClient.get(client) ?? 1) - 1;
          if (left > 0) byClient.set(client, left);
          else byClient.delete(client);
        });
        const isFarBeyond = total > limits.total || ofClient > limits.perClient * SILENT_FACTOR;
        if (ofClient > limits.perClient) reject(socket, "client_connections", isFarBeyond || !speaksHttp);
        else if (total > limits.total)
          reject(socket, "connections", total > limits.total * SILENT_FACTOR || !speaksHttp);
      });
    },
  };
}

function proxyMatcher(trusted: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList();
  const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
  for (const proxy of trusted) {
    const [address = "", prefix] = proxy.split("/");
    if (prefix === undefined) proxies.addAddress(address, familyOf(address));
    else proxies.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => proxies.check(address, familyOf(address));
}
