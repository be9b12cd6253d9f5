#!/usr/bin/env -S node --max-semi-space-size=32 --initial-old-space-size=128
import { pathToFileURL } from "node:url";
import { ensureBuilt } from "../../../infra/build.mjs";

// With 16 MB, V8's default, young memory fills up while requests are under way, and is copied instead of freed: lookups
// took up to twice as long. With its default for old memory, a few megabytes of arrays make it look through all of it:
// once per question for tag activity, which took half as long again. Only flags of the command set them.

// Signals do not end the first process of a container by default. These handlers do, until a command sets its own.
process.on("SIGINT", () => process.exit(130)).on("SIGTERM", () => process.exit(143));

const program = await ensureBuilt().catch((error) => {
  console.error(`noisefloor: the program could not be built in dist: ${error.message}`);
  console.error('noisefloor: whoever may write there runs "npm run build" once');
  process.exit(1);
});
await import(pathToFileURL(program).href);
