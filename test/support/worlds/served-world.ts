import { once } from "node:events";
import { connect } from "node:net";
import { createWorld, type World } from "./world.ts";

/** A world whose interface really listens, on loopback. */
export type ServedWorld = World & {
  /** Without a slash at the end. */
  readonly url: string;
  /**
   * Sends this text unchanged, line ends included, for requests that `fetch` would correct. @returns the parsed
   * response.
   */
  raw(request: string): Promise<RawAnswer>;
};
export type RawAnswer = { readonly status: number; readonly headers: Headers; readonly body: string };

export async function createServedWorld(now: () => number): Promise<ServedWorld> {
  const world = await createWorld(now);
  const url = await world.app.listen({ host: "127.0.0.1", port: 0 });
  return { ...world, url, raw: (request) => sendRaw(Number(new URL(url).port), request) };
}

/** The request must have `Connection: close`, as the response is read until the connection ends. */
async function sendRaw(port: number, request: string): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.write(request);
  await once(socket, "close");
  const [head = "", ...body] = Buffer.concat(pieces).toString("utf8").split("\r\n\r\n");
  const [statusLine = "", ...fields] = head.split("\r\n");
  const headers = new Headers(
    fields.map((field): [string, string] => [
      field.slice(0, field.indexOf(":")),
      field.slice(field.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: body.join("\r\n\r\n") };
}
