import { afterEach, beforeEach, expect, test } from "vitest";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

let commandLine: CommandLine;
beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

test("with less free disk than is kept free, the service says that it stores nothing: /readyz, status and doctor", async () => {
  const env = { MIN_FREE_DISK_MIB: "100000000" };
  const { url } = await commandLine.startService([], env);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { message: "Not ready: disk" }]);
  const port = new URL(url).port;
  const status = await commandLine.run(["status"], { ...env, HTTP_PORT: port }).finished;
  expect(status.stdout).toContain("NOT READY: disk");
  expect(status.stdout).toMatch(
    /^disk +FULL: [\d.]+ [GT]iB of .* free, below 95\.4 TiB \(MIN_FREE_DISK_MIB\) nothing is/m,
  );
  expect(status.stdout).not.toContain("full in about");
  const doctor = await commandLine.run(["doctor"], { ...env, HTTP_PORT: port }).finished;
  expect(doctor).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^FAIL +ingest and query .* is not ready: disk$/m),
  });
});
