import { connect } from "node:net";
import type { FuzzAnswer } from "./check-answer.ts";

/** How long a server may take to respond. */
const RESPONSE_TIMEOUT_MS = 20_000;
/** How long to wait before an incomplete request is ended. */
const STALL_MS = 300;

/**
 * Sends bytes to a server and resolves to everything that it sends until it closes the connection.
 * @param isWhole whether the bytes are a complete request, so that the server must respond by itself.
 */
export function exchange(port: number, bytes: Buffer, isWhole: boolean): Promise<Buffer> {
  return new Promise((settle, fail) => {
    const received: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    const stall = setTimeout(() => socket.end(), isWhole ? RESPONSE_TIMEOUT_MS : STALL_MS);
    const timer = setTimeout(
      () => socket.destroy(new Error("the connection was not closed")),
      RESPONSE_TIMEOUT_MS + STALL_MS,
    );
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // The server may close the connection while bytes are still being sent.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") fail(error);
    });
    socket.on("close", () => {
      clearTimeout(stall);
      clearTimeout(timer);
      settle(Buffer.concat(received));
    });
  });
}

/** The responses in the bytes of a connection. Throws unless they are complete responses, one after another. */
export function answersIn(received: Buffer): FuzzAnswer[] {
  const answers: FuzzAnswer[] = [];
  for (let rest = received; rest.length > 0; ) {
    const end = rest.indexOf("\r\n\r\n");
    const head = rest.subarray(0, end).toString("latin1").split("\r\n");
    const status = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(head[0] ?? "")?.[1];
    if (end < 0 || status === undefined) throw new Error(`not an answer: ${rest.subarray(0, 300).toString("latin1")}`);
    const headers = Object.fromEntries(
      head.slice(1).map((line) => {
        const [, name = "", value] = /^([\w-]+): (.*)$/.exec(line) ?? [];
        return [name.toLowerCase(), value];
      }),
    );
    rest = rest.subarray(end + 4);
    // A 100 only invites to send the rest.
    if (status === "100") continue;
    const length = status === "204" ? 0 : Number(headers["content-length"]);
    if (!Number.isInteger(length) || rest.length < length) throw new Error(`not a whole answer: ${status} ${rest}`);
    answers.push({ status: Number(status), headers, text: rest.subarray(0, length).toString("utf8") });
    rest = rest.subarray(length);
  }
  return answers;
}
