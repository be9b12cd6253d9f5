import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { pendingResponses, trackResponse } from "../responses/pending-responses.ts";
import { MAX_PIPELINED_REQUESTS, type OnRejected, respondAndClose } from "./rejections.ts";

/**
 * Rejects a connection on which a client sends more requests ahead than {@link MAX_PIPELINED_REQUESTS}: each is handled
 * when it arrives, and its response waits in memory for those before it. Before routing, as a single read may bring
 * thousands of requests.
 */
export function limitPipelining(handle: RequestListener, onRejected: OnRejected): RequestListener {
  return (request, response) => {
    const { socket } = request;
    // Before anything else: the connection's next request may be malformed, and a shutdown may start.
    trackResponse(response);
    const pending = pendingResponses(socket);
    if (pending.length <= MAX_PIPELINED_REQUESTS) {
      handle(request, response);
      return;
    }
    onRejected("pipelining");
    stopParsing(socket);
    // The 429 takes the turn of the response that is due next, unless part of that has been sent.
    if (pending[0]?.headersSent || !socket.writable) socket.destroy();
    else respondAndClose(socket, "pipelining");
  };
}

/** What Node's parser takes as "this is no HTTP any more": it stops there. */
const NO_MORE_HTTP = 2;

/**
 * Otherwise the parser makes a request and a response of everything that was read, which blocks the event loop. Node's
 * types do not have the parser; where it is not as we know it, it goes on, and each request is rejected by itself.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, "parser");
  if (typeof parser === "object" && parser !== null && "onIncoming" in parser) parser.onIncoming = () => NO_MORE_HTTP;
}
