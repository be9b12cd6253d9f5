import { expect, test } from "vitest";
import { createProgram } from "./program.ts";

test("only the command that is called is loaded, and all are in the help", async () => {
  const program = await createProgram(
    () => Promise.reject(new Error("no command runs")),
    (name) => name === "schema",
  );
  const help = program.helpInformation();
  const own = (name: string) => program.commands.find((command) => command.name() === name);
  expect(help).toMatch(/^ {2}schema +print the JSON Schema of an observation$/m);
  expect(help).toMatch(/^ {2}keys +keys of workspaces$/m);
  expect(own("keys")?.commands, "not loaded").toEqual([]);
  await expect(own("schema")?.parseAsync([], { from: "user" })).rejects.toThrow("no command runs");
});
