#!/usr/bin/env node
// As the first process of a container nothing ends it by default: until a command takes over, a signal just leaves.
process.on("SIGINT", () => process.exit(130)).on("SIGTERM", () => process.exit(143));

// Newer Node versions run TypeScript as it stands; older ones need tsx to take the types away.
if (!process.features.typescript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("../main.ts");
