// Builds the explorer, the pages in the browser, with Vite. Its files are the same on every machine.
// Run as a program, it builds into the folder that it is given.
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXPLORER = fileURLToPath(new URL(".", import.meta.url));
/** What of other folders is in the pages: rules that both sides share, and the versions of the packages. */
const SHARED = ["libs/domain", "package-lock.json"];
/** Names the sources that a build was made of. */
const STAMP = "sources.txt";

/** Makes `outdir`: a copy of one of the earlier builds if the sources are the same, for Vite takes about a second. */
export async function provideExplorer(outdir, earlierBuilds) {
  const sources = hashSources();
  const same = earlierBuilds.find((folder) => readStamp(folder) === sources);
  if (same !== undefined) {
    cpSync(same, outdir, { recursive: true });
    return;
  }
  const { build } = await import("vite");
  await build({ root: EXPLORER, configFile: join(EXPLORER, "vite.config.ts"), build: { outDir: outdir } });
  writeFileSync(join(outdir, STAMP), sources);
}

/** By content: a fresh clone's files are as old as the clone. */
function hashSources() {
  const hash = createHash("sha256");
  const add = (path) => {
    const folder = readdirIfFolder(join(ROOT, path));
    if (folder === undefined) {
      if (!/\.test\.tsx?$/.test(path)) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
      return;
    }
    for (const name of folder.sort()) if (name !== "node_modules") add(`${path}/${name}`);
  };
  for (const path of ["services/explorer", ...SHARED]) add(path);
  return hash.digest("hex");
}

function readdirIfFolder(path) {
  try {
    return readdirSync(path);
  } catch (error) {
    if (error.code === "ENOTDIR") return undefined;
    throw error;
  }
}

function readStamp(folder) {
  const file = join(folder, STAMP);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await provideExplorer(resolve(process.argv[2]), []);
