import { once } from "node:events";
import { createServer } from "node:net";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { type FurtherServer, listenHttpApp } from "./connections.ts";

/** A server that the system does not let listen. */
function refusedWith(code: string): FurtherServer {
  return {
    listen: () => Promise.reject(Object.assign(new Error(`listen ${code}`), { code })),
    close: async () => {},
    closeIdleConnections() {},
    sockets: new Set(),
  };
}

test("a port that is taken is told with the variable that sets it", async () => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  onTestFinished(() => void holder.close());
  const address = holder.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  await expect(listenHttpApp(Fastify(), { host: "127.0.0.1", port })).rejects.toThrow(
    `HTTP_PORT: another process listens on port ${port} of 127.0.0.1 already`,
  );
});

test("an address that the machine does not have is told with the variable that sets it", async () => {
  await expect(listenHttpApp(Fastify(), { host: "203.0.113.7", port: 0 })).rejects.toThrow(
    "HTTP_HOST: this machine has no address 203.0.113.7",
  );
});

test.each([
  ["EACCES", "HTTPS_PORT: this user may not listen on port 443 of 127.0.0.1"],
  ["EADDRINUSE", "HTTPS_PORT: another process listens on port 443 of 127.0.0.1"],
  ["EMFILE", "listen EMFILE"],
])("%s on the port of HTTPS names that one, and the port of HTTP is let go of", async (code, message) => {
  const app = Fastify();
  const further = { server: refusedWith(code), port: 443 };
  await expect(listenHttpApp(app, { host: "127.0.0.1", port: 0 }, further)).rejects.toThrow(message);
  expect(app.server.listening).toBe(false);
});
