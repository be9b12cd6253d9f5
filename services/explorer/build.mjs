// Builds the explorer, the pages in the browser: one script and one style sheet, the same on every machine.
// Run as a program, it builds into the folder that it is given.
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXPLORER = fileURLToPath(new URL(".", import.meta.url));
/** What of other folders is in the pages: rules that both sides share, and the versions of the packages. */
const SHARED = ["libs/domain", "package-lock.json"];
/** Names the sources that a build was made of. */
const STAMP = "sources.txt";

/** The service that serves the pages replaces this with the path of its public URL. */
const BASE = "/__base__";
/** The first browsers with ES2023: index.html tells older ones what is wrong. */
const BROWSERS = ["chrome110", "edge110", "firefox115", "safari16.4"];

/** Makes `outdir`: a copy of one of the earlier builds, if the sources are the same. */
export async function provideExplorer(outdir, earlierBuilds) {
  const sources = hashSources();
  const same = earlierBuilds.find((folder) => readStamp(folder) === sources);
  if (same !== undefined) {
    cpSync(same, outdir, { recursive: true });
    return;
  }
  const { metafile } = await bundle(join(outdir, "assets"));
  const files = Object.keys(metafile.outputs).map((path) => basename(path));
  const urlOf = (extension) => `${BASE}/assets/${files.find((name) => name.endsWith(extension))}`;
  const page = readFileSync(join(EXPLORER, "index.html"), "utf8")
    .replace("/src/main.tsx", () => urlOf(".js"))
    .replace("</head>", () => `<link rel="stylesheet" href="${urlOf(".css")}">\n</head>`);
  writeFileSync(join(outdir, "index.html"), page);
  writeFileSync(join(outdir, STAMP), sources);
}

/** One script: all pages together are smaller than most pictures, and a script that loads others must know its base. */
async function bundle(outdir) {
  const { build } = await import("esbuild");
  return build({
    absWorkingDir: EXPLORER,
    entryPoints: ["src/main.tsx"],
    outdir,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    target: BROWSERS,
    legalComments: "none",
    logLevel: "warning",
  });
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
