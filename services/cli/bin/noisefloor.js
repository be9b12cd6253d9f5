#!/usr/bin/env -S node --initial-old-space-size=128
import { pathToFileURL } from "node:url";
import { ensureBuilt } from "../../../infra/build.mjs";

// With V8's default, a few megabytes of arrays make it look through all old memory: once per question for tag activity.
// Only a flag of the command sets this.

// Signals do not end the first process of a container by default. These handlers do, until a command sets its own.
process.on("SIGINT", () => process.exit(130)).on("SIGTERM", () => process.exit(143));

const program = await ensureBuilt().catch((error) => {
  console.error(`noisefloor: the program could not be built in dist: ${error.message}`);
  console.error(
    error.code === "ERR_MODULE_NOT_FOUND"
      ? 'noisefloor: the packages are not installed: run "npm start" or "npm ci" once'
      : 'noisefloor: run "npm run build" once as a user who may write there',
  );
  process.exit(1);
});
await import(pathToFileURL(program).href);
