#!/usr/bin/env node
// As the first process of a container nothing ends it by default: until main.ts takes over, a signal just leaves.
const leave = () => process.exit(143);
process.on("SIGINT", leave).on("SIGTERM", leave);

// Newer Node versions run TypeScript as it stands; older ones need tsx to take the types away.
if (!process.features.typescript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("../main.ts");
