import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/** Of a connection that there is not. */
function makeResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

let first: ServerResponse | undefined;

/**
 * Makes a process's first response and keeps it. V8 lays out all responses as it finds the first seven of them: with
 * room for as many members as those have that garbage collection has not taken by then. Where it has taken all, later
 * responses are hash tables, and a lookup takes a third longer.
 */
export function settleResponseLayout(): void {
  first ??= makeResponse();
}
