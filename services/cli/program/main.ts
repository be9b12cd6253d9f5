import type { GlobalOptions } from "../framework/command.ts";
import { createProgram } from "./program.ts";

// `head` and other readers may close the pipe early: the command then ends without an error message, as others do.
process.stdout.on("error", (error: Error) => {
  if ("code" in error && error.code === "EPIPE") process.exit(141);
  console.error(`noisefloor: the output cannot be written: ${error.message}`);
  process.exit(1);
});

const createContext = async (options: GlobalOptions) =>
  (await import("../framework/context.ts")).createContext(process.env, options);
const args = process.argv.slice(2);

try {
  const program = await createProgram(createContext, (name) => args.includes(name));
  await program.parseAsync();
  // Their connections to what does not answer would keep them for seconds after the last line.
  if (["status", "doctor"].includes(args[0] ?? "")) process.stdout.write("", () => process.exit());
} catch (error) {
  console.error((await import("../framework/failure.ts")).formatFailure(error));
  process.exitCode = 1;
}
// After a command nothing should be left running; if something is, the process must still end.
setTimeout(() => process.exit(), 5_000).unref();
