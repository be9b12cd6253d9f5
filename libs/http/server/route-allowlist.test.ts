import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { generate } from "selfsigned";
import { expect, onTestFinished, test } from "vitest";
import { createHttpApp, finishHttpApp } from "../app.ts";
import { closeHttpApp, listenHttpApp, portOf } from "./listen.ts";
import { createTlsServer } from "./tls.ts";

const log = pino({ level: "silent" });

async function openServers() {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-offered-"));
  const files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
  await writeFile(files.certFile, cert);
  await writeFile(files.keyFile, key);
  const metrics = createMetrics();
  const app = await createHttpApp({ log, metrics, deadlineMs: 1_000 });
  const page = { onSend: async () => "<p>page</p>" };
  app.get("/", page, async () => "");
  app.post("/", async () => ({ is: "stored" }));
  app.get("/items/:id", async () => ({ is: "item" }));
  await finishHttpApp(app, { operations: [], checks: {}, metrics, log });
  const all = await createTlsServer(app, { files, log });
  const routes = ["POST /", "GET /healthz"];
  const isOffered = (_request: unknown, method: string, path: string) => routes.includes(`${method} ${path}`);
  const some = await createTlsServer(app, { files, log, isOffered });
  const endpoints = [all, some].map((server) => ({ server, port: 0, portVariable: "A_PORT" }));
  await listenHttpApp(app, { host: "127.0.0.1", port: 0 }, endpoints);
  onTestFinished(async () => {
    await closeHttpApp(app, [all, some]);
    await rm(folder, { recursive: true });
  });
  const ask = (port: number) => (method: string, path: string) =>
    new Promise<string>((settle, fail) => {
      const options = { host: "127.0.0.1", port, method, path, ca: cert, agent: false };
      const sent = request(options, (response) => {
        let text = `${response.statusCode} `;
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => settle(text));
      });
      sent.once("error", fail).end();
    });
  return { ask: ask(portOf(all)), askSome: ask(portOf(some)) };
}

test("a server that offers some routes knows no other path, beside one that offers all", async () => {
  const { ask, askSome } = await openServers();
  for (const path of ["/", "//", "/?format=tpot"]) expect(await askSome("POST", path)).toBe('200 {"is":"stored"}');
  expect(await askSome("GET", "/healthz")).toBe('200 {"status":"ok"}');
  expect(await askSome("HEAD", "/healthz")).toBe("200 ");
  for (const path of ["/", "/items/1", "//items/1", "/items/%zz", "/metrics", "/openapi.json", "/docs", "/docs/"]) {
    expect([path, await askSome("GET", path)]).toEqual([path, '404 {"message":"Not found"}']);
  }
  expect(await askSome("OPTIONS", "*")).toMatch(/^404 /);
  expect(await askSome("DELETE", "/healthz")).toBe('404 {"message":"Not found"}');
  expect(await ask("GET", "/")).toBe("200 <p>page</p>");
  expect(await ask("GET", "/items/1")).toBe('200 {"is":"item"}');
  expect(await ask("GET", "/openapi.json")).toMatch(/^200 /);
});
