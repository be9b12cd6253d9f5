import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answers } from "@noisefloor/clickhouse/client/connect.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { openClickHouse } from "@noisefloor/clickhouse/server/open.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { testInFull } from "../../support/test-in-full.ts";

let dataDir: string;
let server: EmbeddedClickHouse | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "noisefloor-restart-"));
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  await rm(dataDir, { recursive: true, force: true });
});

const portOf = ({ connection }: EmbeddedClickHouse) => Number(new URL(connection.url).port);

/** Sends malformed bytes, and disconnects in one of the ways in which clients do. */
async function sendMalformed(port: number, bytes: string, leave: "close" | "half-close" | "reset"): Promise<void> {
  const socket = dial(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  if (bytes !== "") await new Promise((settle) => socket.write(bytes, settle));
  if (leave === "half-close") socket.resume().end();
  else if (leave === "reset") socket.resetAndDestroy();
  else socket.destroy();
  if (!socket.closed) await once(socket, "close");
}

test("malformed requests and clients that disconnect half-way do not end the server", async () => {
  server = await startEmbedded(dataDir);
  const { pid } = server;
  const requests = [
    "",
    "GET / HT",
    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    `GET /${"a".repeat(300_000)} HTTP/1.1\r\n\r\n`,
    "\u0000\u0001\u0002",
  ];
  for (const leave of ["close", "half-close", "reset"] as const) {
    for (const bytes of requests) await sendMalformed(portOf(server), bytes, leave);
  }
  expect(await answers({ ...server.connection, password: "wrong" })).toBe(false);
  expect(await answers(server.connection)).toBe(true);
  expect(server.pid).toBe(pid);
});

test("a server that ends unexpectedly is restarted at the same address, and no other process starts one meanwhile", async () => {
  const events: unknown[] = [];
  server = await startEmbedded(dataDir, {
    restart: {
      onExit: (end) => events.push(end),
      onRestart: () => events.push("back"),
    },
  });
  const { pid } = server;
  const beside = await openClickHouse({ dataDir }, { purpose: "service" });
  let hasLost = false;
  void beside.ended.then(() => {
    hasLost = true;
  });
  for (const round of [1, 2]) {
    process.kill(server.pid, "SIGKILL");
    await eventually(async () => expect(events).toHaveLength(2 * round));
    expect(await answers(beside.connection), "the same port and password").toBe(true);
  }
  expect(events).toMatchObject([{ code: null, signal: "SIGKILL" }, "back", { code: null, signal: "SIGKILL" }, "back"]);
  expect(server.pid).not.toBe(pid);

  process.kill(server.pid, "SIGKILL");
  await eventually(async () => expect(events).toHaveLength(5));
  const command = await openClickHouse({ dataDir }, { purpose: "command" });
  expect(command.origin, "a command waits for the service's server").toBe("running");
  expect(hasLost).toBe(false);
  await beside.close();
  await command.close();
});

testInFull("a server that cannot be restarted is reported, with how it ended and where its log is", async () => {
  server = await startEmbedded(dataDir, { restart: { maxDownMs: 500 } });
  const port = portOf(server);
  process.kill(server.pid, "SIGKILL");
  await eventually(async () => expect(await answers(server?.connection ?? fail())).toBe(false));
  const blocker = createServer((socket) => socket.destroy());
  // Takes over its port. Retried, as the restarting server may be faster.
  await eventually(async () => {
    if (server !== undefined && (await answers(server.connection))) process.kill(server.pid, "SIGKILL");
    blocker.listen(port, "127.0.0.1");
    await once(blocker, "listening");
  });
  const reason = await server.ended;
  blocker.close();
  expect(reason.message).toEqual(
    expect.stringMatching(
      /^ClickHouse \(pid \d+\) was killed by signal 9 \(SIGKILL\), possibly out of memory, and could not be started again; see \/.*clickhouse\.log$/,
    ),
  );
});

test("a stop during a restart ends the server", async () => {
  server = await startEmbedded(dataDir, { restart: {} });
  process.kill(server.pid, "SIGKILL");
  await eventually(() => stat(join(dataDir, "clickhouse", "nowhere")));
  await server.stop();
  expect(await answers(server.connection)).toBe(false);
  server = await startEmbedded(dataDir);
});

function fail(): never {
  throw new Error("no server");
}
