import { expect, test } from "vitest";
import { NODE_FLAGS } from "../support/worlds/command-line.ts";
import { readText } from "./documents.ts";

/** Between `node` and the program, or a command that prints further flags, in a shell or as a JSON array. */
const CALL =
  /\bnode[",\s\\]+((?:"?--[\w=-]+[",\s\\]+)+)"?(?:\$\(node infra\/heap-flags\.mjs\) )?(?:services\/cli\/bin\/noisefloor\.js|infra\/bootstrap\.mjs)/;

test.each(["package.json", "infra/docker/Dockerfile", "infra/systemd/noisefloor.service"])(
  "%s starts Node with the flag of the command",
  async (path) => {
    const [, flags = ""] = CALL.exec(await readText(path)) ?? [];
    expect(flags.match(/--[\w=-]+/g)).toEqual(NODE_FLAGS);
  },
);

test("the documentation says what it does", async () => {
  expect(NODE_FLAGS).not.toEqual([]);
  const operations = await readText("docs/operations.md");
  for (const flag of NODE_FLAGS) expect(operations).toContain(`\`${flag}\``);
});
