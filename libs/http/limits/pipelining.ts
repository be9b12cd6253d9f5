import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { onRequestHookHandler } from "fastify";
import { endWith } from "./last-words.ts";
import { type OnRejected, rejectionError } from "./rejections.ts";

/** A client that sends more requests than that on one connection without reading an answer is cut off. */
const MAX_WAITING = 100;

type Connection = {
  /** The answer that is worked on. */
  active: ServerResponse | undefined;
  waiting: { readonly response: ServerResponse; readonly start: () => void }[];
  isCut: boolean;
};

/**
 * Has the requests of one connection worked on one after the other: HTTP/1.1 answers in their order anyway, and answers
 * that are ready early would lie in memory. While some wait nothing more is read from the connection.
 */
export function inTurnPerConnection(onRejected: OnRejected): onRequestHookHandler {
  const connections = new WeakMap<Socket, Connection>();
  const open = (socket: Socket): Connection => {
    const connection: Connection = { active: undefined, waiting: [], isCut: false };
    connections.set(socket, connection);
    // Node resumes reading by itself whenever a request's body has been read or dropped.
    socket.on("resume", () => {
      if (connection.waiting.length > 0) socket.pause();
    });
    socket.once("close", () => {
      connection.waiting = [];
    });
    return connection;
  };
  return (request, reply, done) => {
    const { socket } = request.raw;
    const response = reply.raw;
    const connection = connections.get(socket) ?? open(socket);
    // What a single read brought goes on to be parsed. Nobody will get an answer to it.
    if (connection.isCut) return;
    const start = () => {
      connection.active = response;
      response.once("close", () => {
        // With its connection: what is started now would never close, and hold what it takes for good.
        if (socket.destroyed) return;
        const next = connection.waiting.shift();
        connection.active = undefined;
        if (connection.waiting.length === 0 && next !== undefined) socket.resume();
        next?.start();
      });
      done();
    };
    if (connection.active === undefined) {
      start();
    } else if (connection.waiting.length < MAX_WAITING) {
      connection.waiting.push({ response, start });
      socket.pause();
    } else {
      onRejected("pipelining");
      cut(socket, connection);
    }
  };
}

/** The 429 stands in for the answer that is due next, if nothing of that has been sent. */
function cut(socket: Socket, connection: Connection): void {
  connection.isCut = true;
  connection.waiting = [];
  if (connection.active?.headersSent || !socket.writable) {
    socket.destroy();
    return;
  }
  endWith(socket, rejectionError.pipelining(MAX_WAITING));
}
