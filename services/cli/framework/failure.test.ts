import { createServer } from "node:http";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { expect, onTestFinished, test } from "vitest";
import { formatFailure } from "./failure.ts";

test.each([
  ["does not answer", "noisefloor: ClickHouse did not answer in time, so it is overloaded or hangs: ", () => {}],
  [
    "closes the connection",
    "noisefloor: ClickHouse closed the connection, so it has stopped or restarts: ",
    (socket: { destroy(): void }) => socket.destroy(),
  ],
])("a server that %s is named, with what to do", async (_what, message, answer) => {
  const server = createServer((request) => answer(request.socket));
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const connection = { url: `http://127.0.0.1:${port}`, username: "default", password: "", database: "default" };
  const client = connect(connection, "noisefloor-tests", 200);
  onTestFinished(() => client.close());
  const error = await client.command({ query: "SELECT 1" }).catch((thrown: unknown) => thrown);
  const what = '"noisefloor status" says how it is; run the command again when it answers';
  expect(formatFailure(error)).toBe(`${message}${what}`);
});
