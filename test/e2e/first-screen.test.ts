import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import getPort from "get-port";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

let commandLine: CommandLine;
beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

async function takePort(): Promise<string> {
  const blocker = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void blocker.close());
  await once(blocker, "listening");
  const address = blocker.address();
  return String(address !== null && typeof address === "object" ? address.port : 0);
}

test("a port in use and a demo beyond the retention are told before anything is started, made or migrated", async () => {
  const [port, free] = [await takePort(), String(await getPort())];
  const { dataDir } = commandLine;
  const here = (args: readonly string[], env: Record<string, string> = {}) =>
    runInProcess(args, { DATA_DIR: dataDir, HTTP_PORT: free, ...env });
  expect(await commandLine.run(["start"], { HTTP_PORT: port }).finished).toEqual({
    code: 1,
    stdout: "",
    stderr: `noisefloor: HTTP_PORT: another process listens on port ${port} of 127.0.0.1 already\n`,
  });
  const demo = (days: number) =>
    expect.stringMatching(new RegExp(`^noisefloor: only ${days} days are kept, and --demo 365 goes further back\\n$`));
  expect(await here(["start", "--demo", "365"])).toMatchObject({ code: 1, stdout: "", stderr: demo(100) });
  expect(await here(["start", "--demo", "365"], { RETENTION_DAYS: "200" })).toMatchObject({ stderr: demo(200) });
  expect(await readdir(dataDir)).toEqual([]);
  // The retention that a store has already counts, too.
  expect(await runInProcess(["migrate"], { DATA_DIR: dataDir, RETENTION_DAYS: "300" })).toMatchObject({ code: 0 });
  expect(await here(["start", "--demo", "365"])).toMatchObject({ code: 1, stdout: "", stderr: demo(300) });
});

test("the first lines name the explorer, the documentation and the demo, and no page's files push the key off the screen; /readyz says that a full disk stores nothing", async () => {
  const { url, output, errors } = await commandLine.startService([], {
    ...{ LOG_LEVEL: "info", MIN_FREE_DISK_MIB: "100000000" },
  });
  expect(output()).toContain(`Explorer        ${url}/\n`);
  expect(output()).toContain(`Documentation   ${url}/docs\n`);
  expect(output()).toContain("npm start -- --demo");
  expect(output()).toContain("Another key: ./noisefloor keys create default");
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers: { accept: "text/html,*/*" } });
    expect([path, response.status]).toEqual([path, 200]);
    return response.text();
  };
  const page = await get("/");
  const files = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);
  expect(files.length).toBeGreaterThan(0);
  for (const path of [...files, "/tags", "/docs/", "/docs/static/swagger-ui.css", "/healthz"]) await get(path);
  expect((await fetch(`${url}/v3/nothing`)).status).toBe(404);
  await eventually(async () => expect(errors()).toContain('"path":"/v3/nothing"'));
  expect(errors().match(/"answered"/g)).toHaveLength(1);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()], "with less free disk than is kept free").toMatchObject([
    503,
    { checks: { disk: "unavailable" } },
  ]);
});
