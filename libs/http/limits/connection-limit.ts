import { BlockList, isIPv6, type Server, type Socket } from "node:net";
import { clientNetwork } from "@noisefloor/domain/client-address.ts";
import { endWith } from "./last-words.ts";
import { type OnRejected, rejectionError } from "./rejections.ts";

export type ConnectionLimits = {
  /** Open connections of one client; proxies that are trusted may have any number. */
  readonly perClient: number;
  readonly all: number;
  readonly trustedProxies: readonly string[];
};

export type ConnectionLimit = {
  /** To be called for each server that shares the limits. */
  watch(server: Server): void;
  /** Requests on such a connection must not be worked on. */
  isRefused(socket: Socket): boolean;
};

/** So far beyond a limit a connection is closed without a word. */
const SILENT_FACTOR = 2;

/** Refuses connections beyond the limits. */
export function connectionLimit(limits: ConnectionLimits, onRejected: OnRejected): ConnectionLimit {
  const isProxy = proxyMatcher(limits.trustedProxies);
  const byClient = new Map<string, number>();
  const refused = new WeakSet<Socket>();
  let all = 0;
  const refuse = (socket: Socket, reason: "client_connections" | "connections", isSilent: boolean) => {
    refused.add(socket);
    onRejected(reason);
    if (isSilent) socket.destroy();
    else endWith(socket, rejectionError[reason]());
  };
  return {
    isRefused: (socket) => refused.has(socket),
    watch(server) {
      // Before its handshake a TLS client would not understand an answer.
      const speaksHttp = !("setSecureContext" in server);
      server.on("connection", (socket: Socket) => {
        const address = socket.remoteAddress ?? "";
        const client = clientNetwork(address, undefined);
        const ofClient = isProxy(address) ? 0 : (byClient.get(client) ?? 0) + 1;
        all++;
        byClient.set(client, ofClient);
        socket.once("close", () => {
          all--;
          const left = (byClient.get(client) ?? 1) - 1;
          if (left > 0) byClient.set(client, left);
          else byClient.delete(client);
        });
        const isFarBeyond = all > limits.all || ofClient > limits.perClient * SILENT_FACTOR;
        if (ofClient > limits.perClient) refuse(socket, "client_connections", isFarBeyond || !speaksHttp);
        else if (all > limits.all) refuse(socket, "connections", all > limits.all * SILENT_FACTOR || !speaksHttp);
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
