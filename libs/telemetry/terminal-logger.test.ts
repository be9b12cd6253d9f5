import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createTerminalLogger } from "./terminal-logger.ts";

test("on a terminal each event is one line: an answered request as a sentence, any other with its fields", () => {
  let text = "";
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const log = createTerminalLogger("noisefloor", "info", destination);
  const request = { requestId: "r-1", operation: "tags", method: "GET", path: "/v3/tags", status: 200, ms: 1.5 };
  log.info({ ...request, workspace: undefined }, "answered");
  log.info({ ...request, workspace: "default", client: "192.0.2.1" }, "answered");
  log.warn({ path: "/data", status: "full" }, "cannot write");
  const lines = text.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\[[\d:]+\] /, ""))).toEqual([
    "INFO: GET /v3/tags: 200 in 1.5 ms, request r-1",
    "INFO: GET /v3/tags from 192.0.2.1: 200 in 1.5 ms, workspace default, request r-1",
    'WARN: cannot write {"path":"/data","status":"full"}',
  ]);
});
