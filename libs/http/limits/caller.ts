import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import type { FastifyRequest } from "fastify";

/** Who is limited: a workspace, or a client without a key (an IPv4 address, an IPv6 /64). */
export type LimitedCaller = { readonly name: string; readonly hasKey: boolean };

/** Call it after the request's key was checked. */
export function callerOf(request: FastifyRequest): LimitedCaller {
  const { workspaceId } = request;
  if (workspaceId !== undefined) return { name: `workspace:${workspaceId}`, hasKey: true };
  return { name: `address:${clientNetwork(request.ip, request.socket.remoteAddress)}`, hasKey: false };
}
