import { defineConfig } from "vite";

/** The service that serves the pages replaces this with the path of its public URL. */
const BASE = "/__base__/";

// Vite reads the default export.
// biome-ignore lint/style/noDefaultExport: see above
export default defineConfig({
  base: BASE,
  logLevel: "warn",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    emptyOutDir: true,
    // One script: all pages together are smaller than most pictures, and a script that loads others must know its base.
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: { output: { codeSplitting: false } },
  },
});
