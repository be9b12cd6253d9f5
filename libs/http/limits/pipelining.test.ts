import { createServer, IncomingMessage } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { z } from "zod";
import { limitPipelining } from "./pipelining.ts";
import { MAX_PIPELINED_REQUESTS } from "./rejections.ts";

test("of a flood on one connection hardly anything is parsed beyond the request that is one too many", async () => {
  let parsed = 0;
  class Counted extends IncomingMessage {
    constructor(...of: ConstructorParameters<typeof IncomingMessage>) {
      super(...of);
      parsed++;
    }
  }
  const rejected: string[] = [];
  const handle = limitPipelining(
    () => {},
    (reason) => rejected.push(reason),
  );
  const server = createServer({ IncomingMessage: Counted }, handle);
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = z.object({ port: z.int() }).parse(server.address());
  const socket = connect(port, "127.0.0.1");
  socket.end("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10 * MAX_PIPELINED_REQUESTS));
  const answer = String(await buffer(socket));
  server.close();
  expect(answer).toMatch(/^HTTP\/1.1 429 /);
  expect(rejected).toEqual(["pipelining"]);
  // One is too many, and the parser stops at one more.
  expect(parsed).toBe(MAX_PIPELINED_REQUESTS + 2);
});
