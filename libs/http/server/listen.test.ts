import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { listenHttpApp } from "./listen.ts";

/** A server whose `listen` fails with an error of the operating system. */
function serverFailingWith(code: string) {
  const server = createHttpsServer();
  const listen = () => {
    process.nextTick(() => server.emit("error", Object.assign(new Error(`listen ${code}`), { code })));
    return server;
  };
  return Object.assign(server, { listen });
}

test("for a port that is taken the error names the variable that sets it", async () => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  onTestFinished(() => void holder.close());
  const address = holder.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  await expect(listenHttpApp(Fastify(), { host: "127.0.0.1", port })).rejects.toThrow(
    `HTTP_PORT: another process listens on port ${port} of 127.0.0.1 already`,
  );
});

test("for an address that the machine does not have the error names the variable that sets it", async () => {
  await expect(listenHttpApp(Fastify(), { host: "203.0.113.7", port: 0 })).rejects.toThrow(
    "HTTP_HOST: this machine has no address 203.0.113.7",
  );
});

test.each([
  ["EACCES", "HTTPS_PORT: this user may not listen on port 443 of 127.0.0.1"],
  ["EADDRINUSE", "HTTPS_PORT: another process listens on port 443 of 127.0.0.1"],
  ["EMFILE", "listen EMFILE"],
])("%s on the HTTPS port names that one, and the HTTP port is closed", async (code, message) => {
  const app = Fastify();
  const https = { server: serverFailingWith(code), port: 443, portVariable: "HTTPS_PORT" };
  await expect(listenHttpApp(app, { host: "127.0.0.1", port: 0 }, [https])).rejects.toThrow(message);
  expect(app.server.listening).toBe(false);
});
