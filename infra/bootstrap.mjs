// Makes a fresh clone ready: installs the packages of a service, if that has not been done yet, and builds the program.
// Then runs the command line with the arguments it was given, unless these are --only-install. With --only-packages it
// installs those of tests, too, and does not build: the tests do, while their servers start.
// Plain JavaScript without a dependency, as it runs before there are any.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function fail(message) {
  console.error(`noisefloor: ${message}`);
  process.exit(1);
}

function npm(...args) {
  const { status } = spawnSync("npm", args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  return status === 0;
}

/** npm writes node_modules/.package-lock.json last, so an interrupted install does not count as one. */
const MARKER = `${root}node_modules/.package-lock.json`;

/** Three quarters of all packages. Where they are installed, an update installs them again. */
function hasTestPackages() {
  return existsSync(MARKER) && readFileSync(MARKER, "utf8").includes('"node_modules/vitest"');
}

function isInstalled() {
  return existsSync(MARKER) && statSync(MARKER).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs;
}

const isForTests = process.argv[2] === "--only-packages";
const withTestPackages = isForTests || hasTestPackages();

function installPackages(...flags) {
  const which = withTestPackages ? "--include=dev" : "--omit=dev";
  return npm("ci", which, "--prefer-offline", "--no-audit", "--no-fund", ...flags);
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) fail(`Node 20.19 or newer is needed, this is ${process.versions.node}`);

/** Before hundreds of megabytes are fetched; the program itself checks all of its ports. */
function assertPortFree() {
  const [host, port] = [process.env.HTTP_HOST || "127.0.0.1", Number(process.env.HTTP_PORT || 8080)];
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", ({ code }) =>
      code === "EADDRINUSE" ? fail(`HTTP_PORT: another process listens on port ${port} of ${host} already`) : settle(),
    );
    server.listen({ host, port }, () => server.close(settle));
  });
}

if (!isInstalled() || (isForTests && !hasTestPackages())) {
  const isConfigured = process.argv.some((argument) => argument.startsWith("--config"));
  if (process.argv[2] === "start" && !isConfigured) await assertPortFree();
  const megabytes = withTestPackages ? 460 : 240;
  console.error(`noisefloor: installing packages (the first time this fetches about ${megabytes} MB) ...`);
  if (!installPackages()) fail("the packages could not be installed: see npm's message above");
}
const platformPackage = `@chdb/lib-${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu" : ""}`;
if (!process.env.CLICKHOUSE_URL && !existsSync(`${root}node_modules/${platformPackage}`)) {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
  // Without its checksum in the lock file nothing is fetched unasked: the command then says what to install.
  if (packages[`node_modules/${platformPackage}`]?.integrity) {
    console.error(`noisefloor: installing the embedded ClickHouse (${platformPackage}) ...`);
    if (!installPackages("--include=optional"))
      console.error("noisefloor: it could not be installed: set CLICKHOUSE_URL to a ClickHouse server instead");
  }
}

const args = process.argv.slice(2);
if (args[0] === "--only-install") {
  const { ensureBuilt } = await import("./build.mjs");
  await ensureBuilt();
} else if (args[0] !== "--only-packages") {
  // `npm start --demo` without `--` before it: npm takes the flag for a setting of its own.
  if (process.env.npm_config_demo === "true" && !args.includes("--demo")) args.push("--demo");
  process.argv.splice(2, process.argv.length, ...args);
  await import("../services/cli/bin/noisefloor.js");
}
