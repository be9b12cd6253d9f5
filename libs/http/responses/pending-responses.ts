import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The member of a response that has what is due once it closes. */
const DUE = Symbol("due once the response closes");

declare module "node:http" {
  interface ServerResponse {
    /** Undefined when nothing tracks the response, and once it has closed. */
    [DUE]?: (() => void)[] | undefined;
  }
}

/**
 * The responses of each connection that are not finished. It may have several: with pipelining a client sends requests
 * ahead.
 */
const pending = new Map<Socket, ServerResponse[]>();
/** Call it first for each request: nothing may be written into its response before, and no shutdown may cut it off. */
export function trackResponse(response: ServerResponse): void {
  const { socket } = response.req;
  const ofSocket = pending.get(socket) ?? trackConnection(socket);
  ofSocket.push(response);
  response[DUE] = [];
  // `once` would make one more object. A queued response is closed by hand, and Node may close it again.
  response.on("close", () => {
    const due = response[DUE];
    if (due === undefined) return;
    response[DUE] = undefined;
    ofSocket.splice(ofSocket.indexOf(response), 1);
    for (const listener of due) listener();
  });
}

/** Calls back once the connection is done with a response. */
export function onClosed(response: ServerResponse, listener: () => void): void {
  const due = response[DUE];
  // Only a test hands a response over without a connection.
  if (due === undefined) response.once("close", listener);
  else due.push(listener);
}

/** The responses of a connection that are not finished, in the order in which they are due. */
export function pendingResponses(socket: Socket): readonly ServerResponse[] {
  return pending.get(socket) ?? [];
}

/** The open requests that have arrived completely, so that a response is due. */
export function completeRequests(): readonly ServerResponse["req"][] {
  return [...pending.values()].flatMap((ofSocket) => ofSocket.map(({ req }) => req)).filter(({ complete }) => complete);
}

/**
 * When a connection closes, Node closes its current response but none of those after it: they would leak what they
 * hold.
 */
function trackConnection(socket: Socket): ServerResponse[] {
  const responses: ServerResponse[] = [];
  pending.set(socket, responses);
  socket.once("close", () => {
    pending.delete(socket);
    for (const response of [...responses]) {
      if (response.socket === socket) continue;
      response.destroy();
      response.emit("close");
    }
  });
  return responses;
}
