import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/** A response of a connection that does not exist. */
export function makeResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

/** One of a process's first. */
const kept = new Set<ServerResponse>();

/**
 * Makes a response and keeps it. V8 lays out all responses as it finds the first seven of them: with room for as many
 * members as those have that garbage collection has not taken by then. Where it has taken all, later responses are hash
 * tables, and a lookup takes a third longer.
 */
export function settleResponseLayout(): void {
  if (kept.size === 0) kept.add(makeResponse());
}
