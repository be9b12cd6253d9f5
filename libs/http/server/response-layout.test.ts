import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const LAYOUT = new URL("response-layout.ts", import.meta.url).href;

/** Whether V8 finds the members of responses by their place, after garbage collection has taken the first six. */
async function isLaidOut(isSettled: boolean): Promise<boolean> {
  const script = `
    import { IncomingMessage, ServerResponse } from "node:http";
    import { Socket } from "node:net";
    ${isSettled ? `(await import(${JSON.stringify(LAYOUT)})).settleResponseLayout();` : ""}
    const respond = () => new ServerResponse(new IncomingMessage(new Socket()));
    for (let made = ${isSettled ? 1 : 0}; made < 6; made++) respond();
    // V8 keeps a layout without objects for some collections.
    for (let collected = 0; collected < 8; collected++) {
      await new Promise((settle) => setTimeout(settle, 5));
      gc();
    }
    respond();
    console.log(%HasFastProperties(respond()));`;
  const flags = ["--allow-natives-syntax", "--expose-gc", "--import", "tsx/esm", "--input-type=module"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--eval", script]);
  return stdout.trim() === "true";
}

test("garbage collection does not slow down responses", async () => {
  expect(await isLaidOut(true)).toBe(true);
});

test("without a response that is kept it would", async () => {
  expect(await isLaidOut(false)).toBe(false);
});
