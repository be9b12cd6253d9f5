// Bundles the sources with nearly all packages: to find and read their files one by one took most of a command's time.
// Run as a program, it builds, prints the file to run and ends.
// Plain JavaScript, as it runs before anything is built.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
const MAIN = "services/cli/program/main.ts";
const ENTRIES = [MAIN, "libs/clickhouse/embedded/embedded-server.mjs"];
/** Rules that come with Noisefloor: to parse hundreds of YAML files takes a second. */
const TAGS = "infra/tags";
/** Our patches replace parts of kafkajs' own files, and the others read files beside theirs. */
const NOT_BUNDLED = /^(kafkajs|ffi-rs|@fastify\/swagger-ui)$/;
/** In a build, a file for each process that runs it, by its number: it loads parts of the build as it needs them. */
const IN_USE = "in-use";

/** @returns the file to import to run the program; builds it first, if the sources have changed. */
export async function ensureBuilt() {
  // The image holds a build and no sources.
  if (!existsSync(join(ROOT, MAIN))) return join(DIST, newestBuilds()[0] ?? "none", "main.mjs");
  const folder = join(DIST, fingerprint());
  if (!existsSync(folder)) await build(folder);
  markInUse(folder);
  return join(folder, "main.mjs");
}

/** Whoever may not write here is a service, which is stopped before an update (docs/operations.md). */
function markInUse(folder) {
  const mark = join(folder, IN_USE, String(process.pid));
  try {
    writeFileSync(mark, "");
    process.on("exit", () => rmSync(mark, { force: true }));
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
  }
}

/** Builds of earlier sources, but for those that a process still runs, or is about to finish. */
function removeOthers(folder) {
  for (const name of readdirSync(DIST)) {
    const path = join(DIST, name);
    const marks = join(path, IN_USE);
    const users = existsSync(marks) ? readdirSync(marks) : [];
    const [, builder] = /\.(\d+)$/.exec(name) ?? [];
    if (path !== folder && ![...users, ...(builder ? [builder] : [])].some(isAlive))
      rmSync(path, { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Sources that were touched count as changed: reading them all would delay every command. */
function fingerprint() {
  const hash = createHash("sha256");
  const add = (path) => {
    const { mtimeMs, size } = statSync(join(ROOT, path));
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  };
  const addFolder = (folder) => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules") addFolder(path);
      } else if (/(?<!\.test)\.(tsx?|mjs|css|html)$/.test(entry.name)) add(path);
    }
  };
  for (const file of ["infra/build.mjs", "package-lock.json"]) add(file);
  for (const folder of ["libs", "services"]) addFolder(folder);
  for (const file of ruleFiles()) add(file);
  return hash.digest("hex").slice(0, 16);
}

function ruleFiles() {
  if (!existsSync(join(ROOT, TAGS))) return [];
  const names = readdirSync(join(ROOT, TAGS), { recursive: true });
  return names.filter((name) => name.endsWith(".yaml")).map((name) => `${TAGS}/${name}`);
}

/** Writes what the files of rules hold, and apart from it the examples, which only the simulator needs. */
async function prepareRules(outdir) {
  // Loaded only here: every command imports this module, and hardly any has to build.
  const { parse } = await import("yaml");
  const prepared = {};
  const examplesOf = {};
  for (const file of ruleFiles()) {
    const path = join(ROOT, file);
    const { size, mtimeMs } = statSync(path);
    const { examples = [], counterexamples: _counterexamples, ...value } = parse(readFileSync(path, "utf8"));
    examplesOf[relative(TAGS, file)] = examples;
    prepared[relative(TAGS, file)] = { stamp: `${size}/${Math.floor(mtimeMs / 1_000)}`, value };
  }
  writeFileSync(join(outdir, "prepared-tags.json"), JSON.stringify(prepared));
  writeFileSync(join(outdir, "prepared-examples.json"), JSON.stringify(examplesOf));
}

function newestBuilds() {
  if (!existsSync(DIST)) return [];
  const made = (name) => statSync(join(DIST, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readdirSync(DIST).sort((one, other) => made(other) - made(one));
}

/** Written elsewhere and renamed, for two processes may build concurrently and neither may see half a build. */
async function build(folder) {
  const unfinished = `${folder}.${process.pid}`;
  try {
    // Not loaded by commands that have nothing to build: the image has no sources of the pages.
    const { provideExplorer } = await import("../services/explorer/build.mjs");
    const earlier = newestBuilds().map((name) => join(DIST, name, "explorer"));
    await Promise.all([bundle(unfinished), provideExplorer(join(unfinished, "explorer"), earlier)]);
    mkdirSync(join(unfinished, IN_USE), { recursive: true });
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  }
  utimesSync(folder, new Date(), new Date());
  removeOthers(folder);
}

async function bundle(outdir) {
  const esbuild = await import("esbuild");
  await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    // All in one folder, two levels below the root like services/cli: paths relative to a module stay right.
    outdir,
    outExtension: { ".js": ".mjs" },
    entryNames: "[name]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    // A command that is not called is not loaded.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: "linked",
    // Node's own modules, for packages that are written in CommonJS.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    plugins: [packages(outdir)],
  });
  await prepareRules(outdir);
  // Its compiler is a process of its own, which would stay for as long as ours.
  await esbuild.stop();
}

/**
 * Leaves {@link NOT_BUNDLED} where they are. The bundle finds them in the root's node_modules by name, and by path
 * those that npm had to put into a workspace's own, as the root has another version.
 */
function packages(outdir) {
  return {
    name: "packages",
    setup({ onResolve, resolve }) {
      onResolve({ filter: NOT_BUNDLED }, async ({ path, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === "packages") return undefined;
        const [workspace] = /^(libs|services)\/[^/]+/.exec(relative(ROOT, importer)) ?? [];
        if (workspace === undefined || !existsSync(join(ROOT, workspace, "node_modules", path)))
          return { path, external: true };
        const found = await resolve(path, { resolveDir, kind, pluginData: "packages" });
        return { path: relative(outdir, found.path), external: true };
      });
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ensureBuilt());
