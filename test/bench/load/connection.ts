import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** A connection that is kept, with one request on its way at a time. */
export type Connection = {
  /** @returns the status, once the whole answer is there. */
  ask(request: Buffer): Promise<number>;
  close(): void;
};

/** Lighter than Node's own clients, which take longer for a small request than a server for its answer. */
export async function openConnection(port: number): Promise<Connection> {
  const socket = await open(port);
  let settle = (_status: number) => {};
  let fail = (_error: Error) => {};
  let received: Buffer = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    received = received.length === 0 ? data : Buffer.concat([received, data]);
    const status = completeStatus(received);
    if (status === undefined) return;
    received = Buffer.alloc(0);
    settle(status);
  });
  socket.on("error", (error) => fail(error));
  socket.on("close", () => fail(new Error("the server closed a connection")));
  return {
    ask: (request) =>
      new Promise((done, failed) => {
        settle = done;
        fail = failed;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((done, failed) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true }, () => done(socket));
    socket.once("error", failed);
  });
}

/** The status of an answer that has come to its end. */
function completeStatus(received: Buffer): number | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = received.toString("latin1", 0, headEnd).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  const isComplete =
    length === undefined
      ? received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
      : received.length >= headEnd + HEAD_END.length + Number(length);
  return isComplete ? Number(head.slice(9, 12)) : undefined;
}
