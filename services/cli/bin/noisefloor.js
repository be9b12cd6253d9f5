#!/usr/bin/env node
// Newer Node versions run TypeScript as it stands; older ones need tsx to take the types away.
if (!process.features.typescript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("../main.ts");
