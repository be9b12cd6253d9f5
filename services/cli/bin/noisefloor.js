#!/usr/bin/env -S node --max-semi-space-size=32 --initial-old-space-size=128 --no-allocation-site-pretenuring
import { pathToFileURL } from "node:url";
import { ensureBuilt } from "../../../infra/build.mjs";

// With 16 MB, V8's default, young memory fills up while requests are under way, and is copied instead of freed: lookups
// took up to twice as long. With its default for old memory, a few megabytes of arrays make it look through all of it:
// once per question for tag activity, which took half as long again. And once hundreds of requests at a time have kept
// their objects through a collection of young memory, V8 makes those of all later requests in old memory, from where
// they keep others alive: collections took 15 ms instead of 1, nine times a second. Only flags of the command set this.

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
