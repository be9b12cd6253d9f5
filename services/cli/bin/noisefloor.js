#!/usr/bin/env node
// Signals do not end the first process of a container by default. These handlers do, until a command sets its own.
process.on("SIGINT", () => process.exit(130)).on("SIGTERM", () => process.exit(143));

// Older Node versions need tsx to run TypeScript.
if (!process.features.typescript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("../main.ts");
