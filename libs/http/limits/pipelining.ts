import type { RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { onClosed, trackResponse } from "../responses/connections.ts";
import { MAX_PIPELINED_REQUESTS, type OnRejected, respondAndClose } from "./rejections.ts";

type Connection = {
  /** The response in progress. */
  active: ServerResponse | undefined;
  waiting: { readonly response: ServerResponse; readonly start: () => void }[];
  isCut: boolean;
};

/**
 * Passes the requests of one connection to the application one after the other: HTTP/1.1 sends responses in that order
 * anyway, and those that are ready early would fill memory. While some wait, nothing more is read from the connection.
 * Before routing, as a single read may bring hundreds of requests, and to route them all blocks the event loop.
 * @param onFirst called with each connection that brings a request, once.
 */
export function inTurnPerConnection(
  handle: RequestListener,
  onRejected: OnRejected,
  onFirst: (socket: Socket) => void = () => {},
): RequestListener {
  const connections = new WeakMap<Socket, Connection>();
  const open = (socket: Socket): Connection => {
    const connection: Connection = { active: undefined, waiting: [], isCut: false };
    connections.set(socket, connection);
    onFirst(socket);
    // Node resumes reading by itself whenever a request's body has been read or dropped.
    socket.on("resume", () => {
      if (connection.waiting.length > 0) socket.pause();
    });
    socket.once("close", () => {
      connection.waiting = [];
    });
    return connection;
  };
  return (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? open(socket);
    // A parser that could not be stopped still delivers what a single read brought.
    if (connection.isCut) return;
    // At once: the connection's next request may be malformed, and a shutdown may start.
    trackResponse(response);
    const start = () => {
      connection.active = response;
      onClosed(response, () => {
        // The connection has closed: a request started now would never close, and leak what it holds.
        if (socket.destroyed) return;
        const next = connection.waiting.shift();
        connection.active = undefined;
        if (connection.waiting.length === 0 && next !== undefined) socket.resume();
        next?.start();
      });
      handle(request, response);
    };
    if (connection.active === undefined) {
      start();
    } else if (connection.waiting.length < MAX_PIPELINED_REQUESTS) {
      connection.waiting.push({ response, start });
      socket.pause();
    } else {
      onRejected("pipelining");
      cut(socket, connection);
    }
  };
}

/** Sends the 429 in place of the response that is due next, unless part of that has been sent. */
function cut(socket: Socket, connection: Connection): void {
  connection.isCut = true;
  connection.waiting = [];
  stopParsing(socket);
  if (connection.active?.headersSent || !socket.writable) {
    socket.destroy();
    return;
  }
  respondAndClose(socket, "pipelining");
}

/** What Node's parser takes as "this is no HTTP any more": it stops there. */
const NO_MORE_HTTP = 2;

/**
 * The parser would make a request and a response of everything that a single read brought: of a flood, most of the time
 * that it takes. Node's types do not have the parser; where it is not as we know it, nothing is stopped.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, "parser");
  if (typeof parser === "object" && parser !== null && "onIncoming" in parser) parser.onIncoming = () => NO_MORE_HTTP;
}
